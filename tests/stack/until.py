"""Waiting for something to become true, with a bound and a sentence for when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(what: str, true: Callable[[], object], within_s: float = 5.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline_s, f"{what}: not within {within_s:g} s"
        time.sleep(0.005)
