"""Owns the time: nanoseconds of the machine's monotonic clock inside, seconds at the edge."""

from __future__ import annotations

import time
from typing import Protocol

NS_PER_S = 1_000_000_000


class Clock(Protocol):
    def now_ns(self) -> int: ...


class MonotonicClock:
    """CLOCK_MONOTONIC, which all processes of one machine share: their marks are comparable."""

    def now_ns(self) -> int:
        return time.monotonic_ns()


def ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)


def seconds(nanoseconds: int) -> float:
    return nanoseconds / NS_PER_S
