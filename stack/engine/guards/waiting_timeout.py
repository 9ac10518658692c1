"""A decode that announced its pages does not wait for ever for the first KV byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stack.engine.room import Room, State


@dataclass(frozen=True, slots=True)
class WaitingTimeout:
    """Decode only, and blind once a byte has arrived: from then on it is Transferring."""

    on: bool
    timeout_s: float
    name: str = "waiting_timeout"
    knob: str = "SGLANG_DISAGGREGATION_WAITING_TIMEOUT"

    def overdue(self, rooms: Iterable[Room], now_s: float) -> list[tuple[Room, str]]:
        if not self.on:
            return []
        return [
            (room, f"no KV byte in {self.timeout_s:g} s after the pages were announced")
            for room in rooms
            if room.state is State.WAITING_FOR_INPUT and now_s - room.since_s >= self.timeout_s
        ]
