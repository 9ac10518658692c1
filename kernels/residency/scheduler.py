"""Runs a grid with at most R CTAs resident, each a greenlet, and proves when it can never end.

The proof. Let a resident CTA be called *cyclic* when it was seen in the same visible state d + 2
times while memory did not change, d being how many kernel functions are on its stack. Visible are
its place, its locals, its loops and the operands of its next access. Hidden are the temporaries of
expressions under evaluation, one expression per function: a + b holds a while b is read. Such a
temporary follows from locals and memory, hence from the visible state, unless it was read before
memory last changed. Between two sights either an outer expression than ever before is evaluated
anew, which can happen d times at most, or all that is anew was so before, and then the two states
are equal in what is hidden as well; of d + 1 pairs of sights, one is of that kind. A CTA that came
back to an equal state over equal memory will do so for ever, whatever the others do, as long as
memory stays as it is. If every resident CTA is cyclic, no one will ever change memory or end, under
any schedule, and no slot will be free: what was not started never starts. A poll's remaining time
is part of its state, and virtual time is moved to the next timeout before anything is concluded.
A spin that counts its turns differs from turn to turn, so it is never taken for a wait.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import greenlet

from kernels import interpreter
from kernels.interpreter import Grid
from kernels.residency.answer import Deadlock, Ending, NotProven, Run
from kernels.residency.cta import Cta, stuck
from kernels.residency.memory import snapshot
from kernels.residency.state import Site

ORDERS = ("in-order", "reverse", "seeded")
LIVELOCK_ROUNDS = 64  # how long a repeat is looked for once the budget is spent
_Greenlet: Any = greenlet.greenlet


@dataclass(frozen=True, slots=True)
class Rules:
    """How a grid is to be scheduled."""

    resident_max: int  # R: SMs times CTAs per SM
    order: str = "in-order"  # in which CTAs are launched: "in-order", "reverse" or "seeded"
    seed: int = 0
    shuffled_turns: bool = False  # resident CTAs take their turns in seeded order, not in turn
    every_access: bool = False  # give way at plain loads and stores as well
    steps_max: int = 400_000  # turns of all CTAs together, then the run is given up
    within_s: float = 120.0  # wall clock, likewise
    round_ns: int = 1_000  # virtual time that one turn of every resident CTA takes

    def __post_init__(self) -> None:
        if self.resident_max < 1:
            raise ValueError(f"resident_max: expected at least 1 CTA, not {self.resident_max}")
        if self.order not in ORDERS:
            raise ValueError(f"order: expected one of {', '.join(ORDERS)}, not {self.order!r}")


def launch_order(rules: Rules, size: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    indices = interpreter.in_order(size)
    if rules.order == "reverse":
        indices.reverse()
    if rules.order == "seeded":
        Random(f"{rules.seed}/launch").shuffle(indices)
    return indices


@dataclass(slots=True)
class Scheduler:
    """Schedules one grid. Arbiter of its memory (see memory.py)."""

    rules: Rules
    grid: Grid
    residents: list[Cta] = field(default_factory=list[Cta])
    queue: deque[tuple[int, int, int]] = field(default_factory=deque[tuple[int, int, int]])
    steps: int = 0
    _clock_ns: int = 0
    _dirty: bool = False  # memory changed in this round
    _running: Cta | None = None
    _hub: Any = None
    _turns: Random = field(default_factory=Random)

    # ---- what a running CTA calls ----

    def give_way(self, site: Site) -> None:
        assert self._running is not None
        self._running.site = site
        self._hub.switch()

    def changed(self) -> None:
        self._dirty = True

    def now_ns(self) -> int:
        return self._clock_ns

    def watch_loop(self, iterator: Iterator[object]) -> Iterator[object]:
        return iterator if self._running is None else self._running.loops.watch(iterator)

    # ---- the loop ----

    def run(self) -> Run:
        """Run to the end.

        Raises:
            Deadlock: proven; memory and the resident CTAs can never change again.
            NotProven: the budget ran out.
        """
        self._hub = greenlet.getcurrent()
        self._turns = Random(f"{self.rules.seed}/turns")
        self.queue.extend(launch_order(self.rules, self.grid.size))
        end = time.monotonic() + self.rules.within_s
        try:
            self._fill()
            while self.residents:
                self._round()
                self._judge()
                if self.steps > self.rules.steps_max or time.monotonic() > end:
                    raise NotProven(self._given_up())
        finally:
            self._discard()
        return self.report(Ending.FINISHED)

    def _fill(self) -> None:
        while self.queue and len(self.residents) < self.rules.resident_max:
            thread = _Greenlet(self.grid.run_cta)
            self.residents.append(Cta(self.queue.popleft(), thread))

    def _round(self) -> None:
        """One turn for each CTA that is resident now; who ends makes room at once."""
        self._dirty = False
        turns = list(self.residents)
        if self.rules.shuffled_turns:
            self._turns.shuffle(turns)
        for cta in turns:
            self._running = cta
            interpreter.enter(cta.index)
            cta.thread.switch()
            self.steps += 1
            if cta.thread.dead:
                self.residents.remove(cta)
                self._fill()
        self._running = None
        self._clock_ns += self.rules.round_ns

    def _judge(self) -> None:
        if self._dirty:
            for cta in self.residents:
                cta.forget()
        else:
            for cta in self.residents:
                cta.look(self._clock_ns)
            self._conclude()

    def _conclude(self) -> None:
        if not self.residents:
            return
        if all(cta.cyclic for cta in self.residents):
            raise Deadlock(self.report(Ending.DEADLOCK, _PROOF))
        timers = [
            cta.site.deadline_ns for cta in self.residents if cta.site.deadline_ns is not None
        ]
        waiting = all(cta.cyclic or cta.site.deadline_ns is not None for cta in self.residents)
        if waiting and timers:  # nothing happens before the next timeout: go there
            self._clock_ns = max(self._clock_ns, min(timers))

    def _given_up(self) -> Run:
        if self._repeats():
            return self.report(Ending.LIVELOCK, _REPEATS)
        memory = (
            "memory still changes" if self._dirty else "memory is quiet: a spin may be counting"
        )
        return self.report(Ending.UNFINISHED, f"the budget ran out: {memory}; this proves nothing")

    def _repeats(self) -> bool:
        seen: set[tuple[bytes | None, ...]] = set()
        for _ in range(LIVELOCK_ROUNDS):
            self._round()
            if not self.residents:
                return False  # it ended after all, with the budget: that repeats nothing
            states = (
                snapshot(self.grid.buffers),
                *(c.state(self._clock_ns) for c in self.residents),
            )
            if states in seen:
                return None not in states
            seen.add(states)
        return False

    def _discard(self) -> None:
        for cta in self.residents:
            if cta.thread and not cta.thread.dead:
                cta.thread.throw(greenlet.GreenletExit)

    def report(self, ending: Ending, why: str = "") -> Run:
        order = self.rules.order
        return Run(
            self.grid.kernel,
            self.grid.size,
            self.rules.resident_max,
            f"{order} {self.rules.seed}" if order == "seeded" else order,
            ending,
            self.steps,
            why,
            stuck(self.residents, self.grid),
            len(self.queue),
        )


_PROOF = (
    "every resident CTA came back to the same state, and no bit of memory changed in between: "
    "no schedule of them can end"
)
_REPEATS = (
    "the state repeats, memory included, while memory changes: this schedule never ends, another "
    "one may; this proves nothing"
)
