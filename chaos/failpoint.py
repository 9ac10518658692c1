"""Owns what a failpoint is told to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failpoint:
    """What one named site does to the request that passes it."""

    site: str  # "transfer.page"
    action: str  # "hold" | "delay" | "drop" | "error" | "crash" | "stop_after"
    request_id: str | None = None  # None: whoever passes
    delay_s: float = 0.0
    after_bytes: int = 0
    times: int | None = None  # acts on this many passes; None: on every one
