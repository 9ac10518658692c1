"""All open rooms of one engine: each is one task, and may be failed from outside."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Protocol

from chaos.stage import Stage
from stack.engine.failpoints import Failpoints, Injected
from stack.engine.guards.skip_to_failed import SkipToFailed
from stack.engine.ledger import Ledger
from stack.engine.order import BAD_REQUEST, Failure, Order
from stack.engine.room import Room, State

SWEEP_S = 0.02  # how often the timers look
TELL_S = 0.1  # a side that gets on tells the other one of those who wait there this often


class Timer(Protocol):
    """A guard that ends rooms which stood too long where they stand."""

    @property
    def name(self) -> str: ...

    def overdue(self, rooms: Iterable[Room], now_s: float) -> list[tuple[Room, str]]:
        """Which, and why."""
        ...


class Side(Protocol):
    """What a prefill or a decode does with a room."""

    async def live(self, room: Room) -> None:
        """The whole good life of a room; returns when nothing is left to do."""
        ...

    async def undo(self, room: Room) -> None:
        """Give back what it holds and tell the peer; quick, and never fails."""
        ...


class Rooms:
    """`failed` tells the front. Everything here runs in the IO thread's loop."""

    def __init__(
        self,
        ledger: Ledger,
        failpoints: Failpoints,
        skip: SkipToFailed,
        failed: Callable[[int, Failure], None],
    ) -> None:
        self._ledger = ledger
        self._failpoints = failpoints
        self._skip = skip
        self._failed = failed
        self._open: dict[int, Room] = {}
        self._aborts: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Room]:
        return iter(list(self._open.values()))

    def get(self, number: int) -> Room | None:
        return self._open.get(number)

    def open(self, order: Order, side: Side) -> None:
        if order.room in self._open:
            why = f"bootstrap_room {order.room} is in use"
            self._failed(order.room, Failure("room_in_use", why, BAD_REQUEST))
            return
        room = Room(order, time.monotonic())
        self._open[order.room] = room
        room.task = asyncio.get_running_loop().create_task(self._run(room, side))

    def meet(self, room: Room, peer: str | None) -> None:
        if peer is not None:
            room.meets(peer, time.monotonic())

    def shared_with(self, peer: str, for_s: float = 0.0) -> list[Room]:
        """Not yet done, and together with that peer for at least so long."""
        latest_s = time.monotonic() - for_s
        return [
            room
            for room in self
            if room.peer == peer and room.met_s <= latest_s and room.state is not State.SUCCESS
        ]

    def move(self, room: Room, state: State) -> None:
        if room.failure is None:
            room.to(state, time.monotonic())

    def progress(self, number: int) -> None:
        """Its transfer got on, or it waits for its turn in a queue that does."""
        room = self._open.get(number)
        if room is not None:
            room.moved_s = time.monotonic()

    def fail(self, room: Room, failure: Failure) -> None:
        """End it now, from whatever state. Only the first failure counts."""
        if room.failure is not None or room.task is None:
            return
        early = room.state is State.BOOTSTRAPPING
        self._ledger.counts["bootstrap_failed" if early else "transfer_failed"] += 1
        room.failure = failure
        room.to(State.FAILED, time.monotonic())
        self._failed(room.number, failure)
        room.task.cancel()

    def guard(self, guard: str, room: Room, why: str) -> None:
        """Fail it in the name of a guard, which writes its mark."""
        if room.failure is None:
            self._ledger.guarded(guard, room.order.request_id, why, room.number)
            self.fail(room, Failure(guard, f"{guard}: {why}"))

    def abort(self, number: int, failure: Failure) -> None:
        """Somebody gave it up. It ends unless a failpoint or the missing guard prevents it."""
        task = asyncio.get_running_loop().create_task(self._abort(number, failure))
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _abort(self, number: int, failure: Failure) -> None:
        room = self._open.get(number)
        if room is None:
            return
        self._ledger.counts["aborted"] += 1
        try:
            if not await self._failpoints.passing("cleanup.abort", room.order.request_id):
                return
        except Injected:  # the abort itself went wrong: it is lost
            return
        state = room.state
        if not self._skip.allows(room):
            return
        if state in (State.WAITING_FOR_INPUT, State.TRANSFERRING):
            why = f"aborted in {state.name}: {failure.message}"
            self._ledger.guarded(self._skip.name, room.order.request_id, why, number)
        self.fail(room, failure)

    async def sweep(self, timers: Iterable[Timer]) -> None:
        """Let the timers look, for ever; they live here and never on the step thread."""
        timers = list(timers)
        while True:
            await asyncio.sleep(SWEEP_S)
            now_s = time.monotonic()
            for timer in timers:
                for room, why in timer.overdue(self, now_s):
                    self.guard(timer.name, room, why)

    async def _run(self, room: Room, side: Side) -> None:
        try:
            await side.live(room)
        except asyncio.CancelledError:
            if room.failure is None:
                raise
        except Injected as error:
            self._fail_inside(room, Failure("failpoint", str(error)))
        except (OSError, EOFError) as error:
            self._fail_inside(room, Failure("transfer_failed", f"KV transfer: {error}"))
        except Exception as error:  # noqa: BLE001 - a task's top: nobody else would end the room
            traceback.print_exc()
            self._fail_inside(room, Failure("internal_error", f"a bug of this engine: {error!r}"))
        room.task = None  # from here on nobody can cancel it: what it holds is given back
        await self._end(room, side.undo)

    def _fail_inside(self, room: Room, failure: Failure) -> None:
        """As `fail`, from its own task, which must not cancel itself."""
        if room.failure is None:
            self._ledger.counts["transfer_failed"] += 1
            room.failure = failure
            room.to(State.FAILED, time.monotonic())
            self._failed(room.number, failure)

    async def _end(self, room: Room, undo: Callable[[Room], Awaitable[None]]) -> None:
        await undo(room)
        self._open.pop(room.number, None)
        self._ledger.enter(room.number, room.order.request_id, Stage.CLEANUP)
        self._ledger.close(room.number)
