"""How soon the smallest embedded stack answers: at first, and again in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ci.benches.effort import Effort
from ci.benches.mortal import told
from ci.benches.promise import Figure, Promise, at_most

FIRST: Final = "embedded stack (router, 1 prefill, 1 decode) ready, first"
AGAIN: Final = "the same, again in the same run"
PROMISES = (Promise(FIRST, at_most(2, "s")), Promise(AGAIN, at_most(0.3, "s")))
PROCESS_S: Final = 60.0


def measure(effort: Effort) -> Iterator[Figure]:
    runs = [_starts(effort.pick(5, 3)) for _ in range(effort.pick(6, 2))]
    note = "guardian, Toxiproxy, zygote with torch, router, workers; imports of our own not counted"
    yield Figure(FIRST, tuple(run[0] for run in runs), note)
    yield Figure(AGAIN, tuple(one for run in runs for one in run[1:]))


def _starts(count: int) -> list[float]:
    said = told(["-m", "ci.benches.stack_starts", str(count)], PROCESS_S)
    return [float(line) for line in said.split()]
