"""An aborted room goes to Failed from any state."""

from __future__ import annotations

from dataclasses import dataclass

from stack.engine.room import Room, State


@dataclass(frozen=True, slots=True)
class SkipToFailed:
    """Off, an abort that comes while pages are announced or on their way is lost: the race
    that was mended in SGLang by letting every state skip to Failed. It has no clock.
    """

    on: bool
    name: str = "skip_to_failed"
    knob: str = "PDCHAOS_GUARDS_OFF"

    def allows(self, room: Room) -> bool:
        return self.on or room.state not in (State.WAITING_FOR_INPUT, State.TRANSFERRING)
