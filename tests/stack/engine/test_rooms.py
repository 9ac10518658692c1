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


async def life_of_a_tripped_room() -> tuple[State | None, list[tuple[int, Failure]], int]:
    failed: list[tuple[int, Failure]] = []
    rooms = Rooms(
        Ledger(Trace(None, "prefill-0")),
        Failpoints(()),
        SkipToFailed(on=True),
        lambda room, failure: failed.append((room, failure)),
    )
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
