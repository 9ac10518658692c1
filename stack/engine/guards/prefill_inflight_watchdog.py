"""A prefill whose KV is on its way and never acknowledged does not wait for ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stack.engine.room import Room, State


@dataclass(frozen=True, slots=True)
class PrefillInflightWatchdog:
    """Prefill only: from the first page pushed until the decode acknowledged the last."""

    on: bool
    timeout_s: float
    name: str = "prefill_inflight_watchdog"
    knob: str = "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT"

    def overdue(self, rooms: Iterable[Room], now_s: float) -> list[tuple[Room, str]]:
        if not self.on:
            return []
        return [
            (room, f"in flight for {self.timeout_s:g} s without an acknowledged handover")
            for room in rooms
            if room.state is State.TRANSFERRING and now_s - room.since_s >= self.timeout_s
        ]
