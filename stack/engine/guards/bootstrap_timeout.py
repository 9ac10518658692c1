"""A room whose other side never came does not wait for ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stack.engine.room import Room, State


@dataclass(frozen=True, slots=True)
class BootstrapTimeout:
    """On both sides: from the request's arrival until the pages are announced.

    Its clock counts the handshake, and not the decode's queue: it starts anew with each word of a
    decode that gets on that the request waits for pages there (`moved_s`).
    """

    on: bool
    timeout_s: float
    name: str = "bootstrap_timeout"
    knob: str = "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT"

    def overdue(self, rooms: Iterable[Room], now_s: float) -> list[tuple[Room, str]]:
        if not self.on:
            return []
        return [
            (room, f"no handshake with the other side in {self.timeout_s:g} s")
            for room in rooms
            if room.state is State.BOOTSTRAPPING and now_s - room.moved_s >= self.timeout_s
        ]
