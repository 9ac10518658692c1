"""How long the tests of the tool take, as README.md writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ci.benches.effort import Effort
from ci.benches.promise import Figure, Promise, at_most
from ci.benches.pytest_run import whole_run

WHOLE: Final = "whole `pytest tests/`"
PROMISES = (Promise(WHOLE, at_most(360, "s")),)
BOUND_S: Final = 1500.0


def measure(effort: Effort) -> Iterator[Figure]:
    yield whole_run(WHOLE, "tests/", effort, BOUND_S)
