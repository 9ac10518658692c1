"""A reply that nobody reads does not keep its slot for ever."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamIdleGuard:
    """Off, a full body is waited for until its connection ends.

    Its clock counts the time in which the other end takes not one byte of a full buffer, the
    kernel's part included, and not the engine's silence: an empty buffer has no clock.
    """

    on: bool
    timeout_s: float
    name: str = "stream_idle_guard"
    knob: str = "PDCHAOS_STREAM_IDLE_TIMEOUT"

    def watch(self, now_s: float, unread_bytes: int) -> Unread:
        return Unread(self, now_s, unread_bytes)


@dataclass(slots=True)
class Unread:
    """One full write buffer; as long as it shrinks, somebody reads."""

    guard: StreamIdleGuard
    since_s: float
    least_bytes: int

    def idle(self, now_s: float, unread_bytes: int) -> bool:
        if unread_bytes < self.least_bytes:
            self.least_bytes, self.since_s = unread_bytes, now_s
        return self.guard.on and now_s - self.since_s >= self.guard.timeout_s
