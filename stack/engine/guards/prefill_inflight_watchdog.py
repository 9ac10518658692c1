"""A prefill whose KV is on its way and gets no further does not wait for ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stack.engine.room import Room, State


@dataclass(frozen=True, slots=True)
class PrefillInflightWatchdog:
    """Prefill only: between the first page pushed and the last acknowledged, pages must arrive.

    The decode says which have arrived. What the writer has given to its socket is no progress:
    megabytes vanish into buffers. A slow link that still delivers pages is left alone.

    Its clock counts pages that were made and have not arrived, and not the prompt's waiting for
    its next turn, nor a step that takes its time: that is the step watchdog's to judge.
    """

    on: bool
    timeout_s: float
    name: str = "prefill_inflight_watchdog"
    knob: str = "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT"

    def overdue(self, rooms: Iterable[Room], now_s: float) -> list[tuple[Room, str]]:
        if not self.on:
            return []
        return [
            (room, f"in flight, and no page has arrived for {self.timeout_s:g} s")
            for room in rooms
            if room.state is State.TRANSFERRING and now_s - room.moved_s >= self.timeout_s
        ]
