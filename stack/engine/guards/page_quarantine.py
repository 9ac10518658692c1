"""Pages that a peer may still write into are not reused until the peer is known to be done."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Ward:
    """One failed room: its writer acknowledged, and its KV connection is at its end."""

    since_s: float
    acknowledged: bool = False
    ended: bool = False


@dataclass(slots=True)
class PageQuarantine:
    """Off, pages are reused at once, and a late writer corrupts whoever has them then.

    Its clock counts the writer's silence from the room's failing on; an abort passes the prefill's
    queue, so that nobody's work lies between. It condemns a connection and no request.
    """

    on: bool
    timeout_s: float
    name: str = "page_quarantine"
    knob: str = "PDCHAOS_ABORT_DRAIN_TIMEOUT"
    _wards: dict[int, Ward] = field(default_factory=dict[int, Ward])

    def admit(self, room: int, now_s: float, *, ended: bool) -> None:
        """`ended`: no KV connection of this room is open."""
        self._wards[room] = Ward(now_s, ended=ended)

    def acknowledge(self, room: int, *, wrote: bool) -> None:
        """The writer says that it stopped; when it never wrote, no connection will come."""
        ward = self._wards.get(room)
        if ward is not None:
            ward.acknowledged = True
            ward.ended = ward.ended or not wrote

    def connection(self, room: int, *, ended: bool) -> None:
        ward = self._wards.get(room)
        if ward is not None:
            ward.ended = ended

    def drained(self) -> list[int]:
        """Rooms whose pages are safe now; they leave the quarantine."""
        return self._leave([r for r, w in self._wards.items() if w.acknowledged and w.ended])

    def overdue(self, now_s: float) -> list[int]:
        """Rooms that waited long enough: their connections must be cut, then they leave."""
        late = [r for r, w in self._wards.items() if now_s - w.since_s >= self.timeout_s]
        return self._leave(late)

    def _leave(self, rooms: list[int]) -> list[int]:
        for room in rooms:
            del self._wards[room]
        return rooms
