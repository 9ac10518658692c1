"""Experiments one after the other on one live stack, as long as it comes through unhurt."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from chaos.arena import Arena, Wanted
from chaos.contracts import Request
from chaos.event import Mark
from chaos.experiment import Experiment
from chaos.judge import judge
from chaos.play import UNHURT
from chaos.run import run, run_control
from chaos.seed import source
from chaos.stage import Stage
from chaos.verdict import BROKEN, Verdict
from chaos.workloads.prompt import prompt
from ci.benches.asking import marks_of
from ci.benches.effort import NotMeasured
from ci.benches.timeline import PROMPT_BYTES, Pair
from stack.drivers.embedded import EmbeddedDriver
from stack.embedded_stack import EmbeddedStack
from stack.plan import Plan

KEYS: Final = 8
PLAY_S: Final = 10.0
REASON_CHARS: Final = 160
S_PER_MINUTE: Final = 60.0


@dataclass
class Campaign:
    """Counts what was judged, and how long all of it took: controls and new stacks included."""

    plan: Plan
    build: Callable[[int, Sequence[Pair]], Experiment]  # the how manieth, on these pairs
    rates: list[float] = field(default_factory=list[float])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    stacks: int = 0
    took_s: float = 0.0
    _pairs: list[Pair] = field(default_factory=list[Pair])

    def play(self, experiments: int) -> None:
        """So many experiments; each is one rate in the sample."""
        arena = Arena()
        wanted = Wanted(repr(self.plan), EmbeddedDriver(self.plan).launch)
        try:
            for index in range(experiments):
                began_s = time.monotonic()
                verdicts = self._one(arena, wanted, index)
                took_s = time.monotonic() - began_s
                judged = sum(one.outcome not in BROKEN for one in verdicts)
                if not judged:  # a control that did not come out well decides nothing, ever again
                    arena.close()
                    arena, self._pairs = Arena(), []
                self.took_s += took_s
                self.verdicts += verdicts
                self.rates.append(S_PER_MINUTE * judged / took_s)
        finally:
            arena.close()

    @property
    def told(self) -> str:
        judged = sum(one.outcome not in BROKEN for one in self.verdicts)
        outcomes = Counter(one.outcome.value for one in self.verdicts)
        counted = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
        whole = S_PER_MINUTE * judged / self.took_s
        over = f"{whole:.0f} a minute over all {self.took_s:.0f} s; {self.stacks} stack(s)"
        return f"{over}: {counted}{self._reasons}"

    @property
    def _reasons(self) -> str:
        """One example of each outcome that a good campaign has not."""
        odd = {one.outcome: one for one in self.verdicts if one.outcome not in UNHURT}
        told = (f"; {one.outcome.value}: {one.strike}: {one.reason}" for one in odd.values())
        return "".join(text[:REASON_CHARS] for text in told)

    def _one(self, arena: Arena, wanted: Wanted, index: int) -> tuple[Verdict, ...]:
        stack = arena.stack(wanted)
        assert isinstance(stack, EmbeddedStack)
        if not self._pairs:
            self._pairs = pairs_of(stack)
            self.stacks += 1
        experiment = self.build(index, self._pairs)
        control = arena.control(
            wanted.plan, experiment.workload, 0, lambda: run_control(experiment, stack)
        )
        verdicts = judge(run(experiment, stack, control))
        if any(one.outcome not in UNHURT for one in verdicts):
            arena.condemn()
            self._pairs = []
        return verdicts


def pairs_of(stack: EmbeddedStack) -> list[Pair]:
    """One routing key for each pair of workers that some key leads to."""
    intakes: list[Mark] = []
    rng = source(0, "bench/pairs")
    names = {f"key-{index}": f"where-{index}" for index in range(KEYS)}
    asks = [
        Request(name, 0.05 * index, prompt(rng, PROMPT_BYTES), 4, routing_key=key)
        for index, (key, name) in enumerate(names.items())
    ]
    with stack.observe(lambda mark: intakes.append(mark) if mark.stage is Stage.INTAKE else None):
        marks_of(stack.clients, asks, PLAY_S)
    found: dict[tuple[str, str], Pair] = {}
    for key, name in names.items():
        workers = sorted(mark.actor for mark in intakes if mark.about == name)
        if len(workers) == 2:  # noqa: PLR2004 - decode comes before prefill
            decode, prefill = workers
            found.setdefault((prefill, decode), Pair(prefill, decode, key))
    if not found:
        raise NotMeasured("no request reached both workers of any pair, though nobody hurt them")
    return list(found.values())
