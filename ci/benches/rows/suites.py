"""How long the whole default `pytest suites/` takes, one after the other and with two workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ci.benches.effort import Effort
from ci.benches.promise import Figure, Promise, at_most
from ci.benches.pytest_run import whole_run

WHOLE: Final = "whole default `pytest suites/`"
SHARED: Final = "the same with `-n 2`"
PROMISES = (Promise(WHOLE, at_most(240, "s")), Promise(SHARED, at_most(120, "s")))
BOUND_S: Final = 1100.0


def measure(effort: Effort) -> Iterator[Figure]:
    yield whole_run(WHOLE, "suites/", effort, BOUND_S)
    yield whole_run(SHARED, "suites/ -n 2", effort, BOUND_S)
