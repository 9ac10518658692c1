"""An open room always comes to an end in which what it holds is given back."""

from __future__ import annotations

import asyncio

from stack.engine.failpoints import Failpoints
from stack.engine.guards.skip_to_failed import SkipToFailed
from stack.engine.ledger import Ledger
from stack.engine.order import Failure, Order
from stack.engine.room import Room, State
from stack.engine.rooms import Rooms
from stack.engine.trace import Trace

BOUND_S = 5.0


class Trips:
    """A side with a bug that one request meets."""

    def __init__(self) -> None:
        self.undone = asyncio.Event()
        self.state: State | None = None

    async def live(self, room: Room) -> None:
        raise IndexError("list index out of range")

    async def undo(self, room: Room) -> None:
        self.state = room.state
        self.undone.set()


class Waits:
    """A side on which a request hangs."""

    async def live(self, room: Room) -> None:
        await asyncio.Event().wait()

    async def undo(self, room: Room) -> None: ...


def some_rooms(failed: list[tuple[int, Failure]]) -> Rooms:
    return Rooms(
        Ledger(Trace(None, "prefill-0")),
        Failpoints(()),
        SkipToFailed(on=True),
        lambda room, failure: failed.append((room, failure)),
    )


async def life_of_a_tripped_room() -> tuple[State | None, list[tuple[int, Failure]], int]:
    failed: list[tuple[int, Failure]] = []
    rooms = some_rooms(failed)
    side = Trips()
    rooms.open(Order(7, "r1", (1, 2), 4), side)
    async with asyncio.timeout(BOUND_S):
        await side.undone.wait()
    return side.state, failed, len(rooms)


def test_a_room_that_trips_over_a_bug_of_ours_is_told_and_gives_everything_back() -> None:
    """Or the request would hang for ever, with its pages, where no guard can end it any more."""
    state, failed, left = asyncio.run(life_of_a_tripped_room())
    assert state is State.FAILED
    ((room, failure),) = failed
    assert (room, failure.code, left) == (7, "internal_error", 0)
    assert "IndexError" in failure.message


async def shared_with_a_silent_peer() -> list[list[int]]:
    """The rooms that a heartbeat may end: before a beat is over, after it, and another peer's."""
    rooms = some_rooms([])
    rooms.open(Order(7, "r1", (1, 2), 4), Waits())
    room = rooms.get(7)
    assert room is not None
    rooms.meet(room, "decode-0")
    early = rooms.shared_with("decode-0", for_s=60.0)
    room.met_s -= 60.0
    rooms.meet(room, "decode-0")  # again: they had met before
    late = rooms.shared_with("decode-0", for_s=60.0)
    found = early, late, rooms.shared_with("decode-1")
    rooms.fail(room, Failure("test", "over"))
    return [[one.number for one in some] for some in found]


def test_a_heartbeat_ends_nobody_who_came_after_the_beat_that_was_missed() -> None:
    """Who comes just after a heal would be condemned for a silence that is over."""
    assert asyncio.run(shared_with_a_silent_peer()) == [[], [7], []]
