"""How soon a hang that nobody noticed is called one, counted from the end of its budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chaos.clock import MonotonicClock, ns, seconds
from chaos.event import Kind
from chaos.experiment import Experiment, Strike
from chaos.history import History
from chaos.judge import judge
from chaos.run import run, run_control
from chaos.specification import Budgets
from chaos.verdict import Outcome
from chaos.workloads.lone import Lone
from ci.benches.effort import Effort, NotMeasured
from ci.benches.promise import Figure, Promise, at_most
from faults.failpoint import StallWriter
from stack.drivers.embedded import EmbeddedDriver
from stack.embedded_stack import EmbeddedStack
from stack.plan import Plan

NAMED: Final = "a silent hang is named after its budget elapsed"
DECIDED: Final = "of that, until the run knows and stops waiting"
PROMISES = (Promise(NAMED, at_most(0.2, "s")), Promise(DECIDED, unit="s"))
VICTIM: Final = "victim"
BUDGETS: Final = Budgets(
    service_s=0.5, delay_s=0.5, settle_s=1.5, detect_s=1.5, converge_s=4.0, recover_s=5.0
)
# Without these nobody ends a request whose KV writer stands still.
BLIND: Final = Plan(
    guards_off=frozenset(
        {"prefill_inflight_watchdog", "bootstrap_timeout", "waiting_timeout", "stream_idle_guard"}
    )
)


def measure(effort: Effort) -> Iterator[Figure]:
    count = effort.pick(12, 3)
    with EmbeddedDriver(BLIND).launch() as stack:
        control = run_control(_experiment(), stack)
        runs = [_named(stack, control) for _ in range(count)]
    note = "verdict SILENT: healing, the recovery's questions and judging are part of it"
    yield Figure(NAMED, tuple(named_s for named_s, _ in runs), note)
    yield Figure(DECIDED, tuple(decided_s for _, decided_s in runs))


def _experiment() -> Experiment:
    stall = StallWriter("prefill-0", after_bytes=4096, request=VICTIM)
    return Experiment("silent", 0, Lone(VICTIM, due_s=0.2), (Strike(stall),), BUDGETS)


def _named(stack: EmbeddedStack, control: History) -> tuple[float, float]:
    """Seconds after the hung request's budget: its verdict, and the end of waiting for it."""
    history = run(_experiment(), stack, control)
    (verdict, *_) = judge(history)
    now_ns = MonotonicClock().now_ns()
    if verdict.outcome is not Outcome.SILENT:
        raise NotMeasured(f"the hang was not silent but {verdict}: {verdict.reason}")
    sent = next(one for one in history.about(VICTIM) if one.kind is Kind.SENT)
    over_ns = sent.at_ns + ns(BUDGETS.settle_s)
    healed_ns = history.phase_ns("heal")
    assert healed_ns is not None
    return seconds(now_ns - over_ns), seconds(healed_ns - over_ns)
