"""A room whose other side never came does not wait for ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stack.engine.room import Room, State


@dataclass(frozen=True, slots=True)
class BootstrapTimeout:
    """On both sides: from the request's arrival until the handshake is done."""

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
            if room.state is State.BOOTSTRAPPING and now_s - room.since_s >= self.timeout_s
        ]
