"""A history as a long experiment leaves it, made in memory: requests, stages, tokens, readings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from chaos.actor import RESOURCE, SIGNAL
from chaos.clock import ns
from chaos.event import Kind, Mark
from chaos.garbage import uncollected
from chaos.history import History, ordered
from chaos.specification import Budgets, Specification, StrikeSpec
from chaos.stage import FaultKind, Stage
from stack.alerts import ALERTS

TOKENS: Final = 24
STAGES: Final = (
    ("prefill-0", Stage.INTAKE),
    ("decode-0", Stage.INTAKE),
    ("decode-0", Stage.BOOTSTRAP),
    ("prefill-0", Stage.BOOTSTRAP),
    ("decode-0", Stage.ADMIT),
    ("prefill-0", Stage.PREFILL),
    ("prefill-0", Stage.TRANSFER),
    ("decode-0", Stage.TRANSFER),
    ("prefill-0", Stage.HANDOVER),
    ("decode-0", Stage.DECODE),
    ("decode-0", Stage.STREAM),
    ("decode-0", Stage.ENDING),
)
SIGNALS: Final = (
    "router/smg_worker_health{prefill-0}",
    "router/smg_worker_health{decode-0}",
    "prefill-0/health",
    "decode-0/health",
    "prefill-0/sglang:num_prefill_inflight_queue_reqs",
    "prefill-0/sglang:num_prefill_bootstrap_queue_reqs",
    "decode-0/sglang:num_decode_transfer_queue_reqs",
)
RESOURCES: Final = ("prefill-0/sglang:kv_used_pages", "decode-0/sglang:kv_used_pages")
PER_REQUEST: Final = 2 + TOKENS + len(STAGES) + len(SIGNALS)  # SENT, the rest, FINISHED
STRIKES: Final = 20
APART_NS: Final = 5_000_000  # between two requests; each lasts for a hundred of these
STEP_NS: Final = 500_000_000 // PER_REQUEST
SPECIFICATION: Final = Specification(
    name="synthetic",
    seed=0,
    stack="in memory",
    workload="requests at even intervals",
    concurrency=1,
    budgets=Budgets(),
    guards={"waiting_timeout": 4.0, "sticky_sessions": 1.0},
    patience={"waiting_timeout": 3.0},
    alerts=ALERTS,
)


@uncollected()
def synthetic(events: int) -> History:
    """At least so many events, and as many in its control; all requests end well."""
    requests = -(-events // PER_REQUEST)
    load_ns = requests * APART_NS
    strikes = tuple(_strike(index) for index in range(STRIKES))
    deeds = [mark for index, one in enumerate(strikes) for mark in _deeds(one, index, load_ns)]
    specification = replace(SPECIFICATION, strikes=strikes)
    control = History(ordered(list(_run(requests, ()))), SPECIFICATION)
    return History(ordered(list(_run(requests, deeds))), specification, control)


def again(history: History) -> History:
    """The same events, and none of the indexes that judging has built."""
    control = history.control
    fresh = None if control is None else History(control.events, control.specification)
    return History(history.events, history.specification, fresh)


def _run(requests: int, deeds: Sequence[Mark]) -> Iterator[Mark]:
    end_ns = requests * APART_NS + ns(1)
    yield from _readings(0)
    yield Mark(1, "run", Kind.PHASE, "disturb")
    load = (_life(f"r{index}", index * APART_NS, index) for index in range(requests))
    yield from chain.from_iterable(load)
    yield from deeds
    for offset, phase in enumerate(("heal", "converge", "recover")):
        yield Mark(end_ns + offset, "run", Kind.PHASE, phase)
    yield from _life("recover/lone", end_ns + 10, 0)
    yield from _life("recover/capacity-1/0", end_ns + ns(1), 0)
    yield from _readings(end_ns + ns(2))
    yield Mark(end_ns + ns(2), "run", Kind.PHASE, "done")


def _life(name: str, begin_ns: int, index: int) -> Iterator[Mark]:
    at_ns = begin_ns + 2
    yield Mark(at_ns, "client", Kind.SENT, name, detail={"routing_key": f"agent-{index % 50}"})
    for actor, stage in STAGES:
        at_ns += STEP_NS
        yield Mark(at_ns, actor, Kind.STAGE, name, stage, index)
    for token in range(TOKENS):
        at_ns += STEP_NS
        yield Mark(at_ns, "client", Kind.TOKENS, name, detail={"text": chr(97 + token)})
    for signal in SIGNALS:
        healthy = 200.0 if signal.endswith("/health") else 1.0 if "worker_health" in signal else 0.0
        probe = f"{signal.partition('/')[0]}/metrics"
        yield Mark(at_ns, SIGNAL, Kind.READING, signal, detail={"value": healthy, "probe": probe})
    ended = {"finish_reason": "length", "tokens": TOKENS, "done": True}
    yield Mark(at_ns + STEP_NS, "client", Kind.FINISHED, name, detail=ended)


def _readings(at_ns: int) -> Iterator[Mark]:
    for name in RESOURCES:
        yield Mark(at_ns, RESOURCE, Kind.READING, name, detail={"value": 0.0, "probe": name})


def _strike(index: int) -> StrikeSpec:
    name = f"{index + 1}: latency on router->decode-0"
    return StrikeSpec(name, "latency", Stage.STREAM, FaultKind.LATE, "at", 0.2, alive=True)


def _deeds(strike: StrikeSpec, index: int, load_ns: int) -> Iterator[Mark]:
    """One after the other, evenly over the load."""
    begin_ns = load_ns * (2 * index + 1) // (2 * STRIKES)
    proof = {"bit": True, "entry_s": 0.001}
    yield Mark(begin_ns, "fault", Kind.STRUCK, strike.strike, detail=proof)
    yield Mark(begin_ns + ns(0.2), "fault", Kind.HEALED, strike.strike, detail=proof)
