"""The residency prover: real kernel source under a scheduler that holds at most R CTAs at once.

    with scheduled(Rules(resident_max=188)) as runs:
        launcher(...)          # raises Deadlock if it can never end, NotProven if it might

The interpreter has one memory model, sequential consistency, and one thread per CTA: a missing
fence or a divergence inside a CTA is not seen here. `TRITON_INTERPRET=1` must be set before Triton
is imported.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from kernels import interpreter
from kernels.interpreter import Grid
from kernels.residency.answer import Deadlock, Ending, NotProven, Run, StuckCta
from kernels.residency.memory import Memory
from kernels.residency.scheduler import ORDERS, Rules, Scheduler

__all__ = [
    "ORDERS",
    "Deadlock",
    "Ending",
    "NotProven",
    "Rules",
    "Run",
    "StuckCta",
    "scheduled",
]


@contextmanager
def scheduled(rules: Rules) -> Generator[list[Run]]:
    """Every Triton launch inside the body is scheduled by `rules`; one Run per finished launch."""
    interpreter.install()
    runs: list[Run] = []

    def dispatch(grid: Grid) -> None:
        scheduler = Scheduler(rules, grid)
        interpreter.doors.watch_loop = scheduler.watch_loop
        with Memory(scheduler, every_access=rules.every_access).watched():
            runs.append(scheduler.run())

    before = interpreter.doors.dispatch, interpreter.doors.watch_loop
    interpreter.doors.dispatch = dispatch
    try:
        yield runs
    finally:
        interpreter.doors.dispatch, interpreter.doors.watch_loop = before
