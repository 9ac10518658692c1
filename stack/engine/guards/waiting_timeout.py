"""A decode that announced its pages does not wait for ever for the first KV byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stack.engine.room import Room, State


@dataclass(frozen=True, slots=True)
class WaitingTimeout:
    """Decode only, and blind once a byte has arrived: from then on it is Transferring.

    Its clock counts the prefill's computing of this prompt and its first byte's way, and not the
    prefill's queue: it starts anew with each word of a prefill that gets on that the prompt waits
    for its turn there (`moved_s`).
    """

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
            if room.state is State.WAITING_FOR_INPUT and now_s - room.moved_s >= self.timeout_s
        ]
