"""A prefill's part in every room: wait for the decode, push the pages, wait for its word."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from chaos.stage import Stage
from stack.engine.bootstrap_server import Announcement, BootstrapServer
from stack.engine.config import WorkerConfig
from stack.engine.failpoints import Failpoints
from stack.engine.kv_writer import KvWriter
from stack.engine.ledger import Ledger
from stack.engine.order import Failure
from stack.engine.prefill_scheduler import PrefillScheduler
from stack.engine.room import Room, State
from stack.engine.rooms import TELL_S, Rooms
from stack.engine.step_loop import StepLoop
from stack.engine.wire import line


@dataclass(frozen=True, slots=True)
class Page:
    ordinal: int
    payload: bytes
    checksum: int


@dataclass(slots=True)
class Push:
    """What the step thread has made for one room; a lone integer is the first token."""

    writer: KvWriter
    made: asyncio.Queue[Page | int] = field(default_factory=asyncio.Queue[Page | int])
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)
    pages_made: int = 0
    pages_arrived: int = 0  # as the decode says
    computed: bool = False  # the whole prompt

    @property
    def idle(self) -> bool:
        """Nothing is on its way, and more is to come."""
        return self.pages_arrived >= self.pages_made and not self.computed


class Front(Protocol):
    """Who counts what is here, and answers."""

    def begun(self, room: int) -> None: ...

    def handed_over(self, room: int) -> None: ...


class PrefillSide:
    """Runs in the IO thread's loop; the step thread is reached through `step.call`."""

    def __init__(
        self,
        config: WorkerConfig,
        ledger: Ledger,
        failpoints: Failpoints,
        rooms: Rooms,
        bootstrap: BootstrapServer,
        front: Front,
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._failpoints = failpoints
        self._rooms = rooms
        self._bootstrap = bootstrap
        self._front = front
        self._pushes: dict[int, Push] = {}
        self._step: StepLoop | None = None
        self._scheduler: PrefillScheduler | None = None
        self.kv_bytes_sent = 0

    def attach(self, step: StepLoop, scheduler: PrefillScheduler) -> None:
        self._step, self._scheduler = step, scheduler

    async def live(self, room: Room) -> None:
        order = room.order
        self._ledger.enter(room.number, order.request_id, Stage.BOOTSTRAP)
        self._pushes[room.number] = push = Push(
            KvWriter(room.number, order.request_id, self._failpoints)
        )
        self._rooms.meet(room, self._bootstrap.decode_of(room.number))
        early = self._bootstrap.early_abort(room.number)
        if early is not None:
            self._rooms.fail(room, early)
        arrived = await self._failpoints.passing("bootstrap.enter", order.request_id)
        where = await self._bootstrap.announcement(room.number)
        if not arrived:  # the handshake was lost: its timer ends it
            await asyncio.Event().wait()
        self._rooms.meet(room, where.peer)
        self._rooms.move(room, State.WAITING_FOR_INPUT)
        self._front.begun(room.number)
        self._ledger.enter(room.number, order.request_id, Stage.PREFILL)
        assert self._step is not None
        assert self._scheduler is not None
        self._step.call(partial(self._scheduler.submit, order))
        await self._transfer(room, push, where)
        await self._acknowledged(push)
        self._rooms.move(room, State.SUCCESS)
        self._front.handed_over(room.number)

    async def watch_queue(self) -> None:
        """For ever: no clock runs while a prompt waits for its turn here and others are computed.

        Before its first page it is the decode that must hear so, afterwards our own watchdog. The
        latter also leaves a step alone that takes its time.
        """
        assert self._step is not None
        assert self._scheduler is not None
        progress, turns = self._scheduler.progress, self._step.turns
        while True:
            await asyncio.sleep(TELL_S)
            got_on, turned = self._scheduler.progress != progress, self._step.turns != turns
            progress, turns = self._scheduler.progress, self._step.turns
            queued = self._scheduler.queued if got_on else frozenset[int]()
            for room in self._rooms:
                push = self._pushes.get(room.number)
                if push is None or not push.idle:
                    continue
                if room.state is State.TRANSFERRING and (room.number in queued or not turned):
                    self._rooms.progress(room.number)
                elif room.number in queued and not push.pages_made:
                    self._bootstrap.tell(room.peer, line("queued", room=room.number))

    async def _transfer(self, room: Room, push: Push, where: Announcement) -> None:
        request_id = room.order.request_id
        while not isinstance(made := await push.made.get(), int):
            if not push.writer.connected:
                await push.writer.connect(
                    self._config.host, self._config.detour("kv", where.kv_port)
                )
                self._rooms.move(room, State.TRANSFERRING)
                self._ledger.enter(room.number, request_id, Stage.TRANSFER)
            if await self._failpoints.passing("transfer.page", request_id):
                page = where.pages[made.ordinal]
                await push.writer.page(made.ordinal, page, made.payload, made.checksum)
        if await self._failpoints.passing("transfer.done", request_id):
            await push.writer.done(made, len(where.pages))
        self._ledger.enter(room.number, request_id, Stage.HANDOVER)

    async def _acknowledged(self, push: Push) -> None:
        """Wait for the decode's word. A KV connection that ends before it has lost pages."""
        word = asyncio.ensure_future(push.acknowledged.wait())
        lost = asyncio.ensure_future(push.writer.lost())
        try:
            await asyncio.wait({word, lost}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            word.cancel()
            lost.cancel()
        if not push.acknowledged.is_set():
            raise ConnectionResetError("its connection ended before the handover was acknowledged")

    async def undo(self, room: Room) -> None:
        """The writer stops first: only then may the decode hear that no byte will follow."""
        push = self._pushes.pop(room.number)
        self.kv_bytes_sent += push.writer.sent_bytes
        if room.failure is None:
            push.writer.close()
        else:
            push.writer.abort()
        self._bootstrap.conclude(room.number, room.peer, room.failure, push.writer.sent_bytes)
        assert self._step is not None
        assert self._scheduler is not None
        self._step.call(partial(self._scheduler.release, room.number))

    # What the step thread made.

    def page(self, room: int, ordinal: int, payload: bytes, checksum: int) -> None:
        push = self._pushes.get(room)
        if push is not None:
            push.pages_made += 1
            push.made.put_nowait(Page(ordinal, payload, checksum))

    def computed(self, room: int, first_token: int) -> None:
        push = self._pushes.get(room)
        if push is not None:
            push.computed = True
            push.made.put_nowait(first_token)

    def broken(self, room: int, failure: Failure) -> None:
        found = self._rooms.get(room)
        if found is not None:
            self._rooms.fail(found, failure)

    # What the decode says.

    def acknowledged(self, room: int) -> None:
        push = self._pushes.get(room)
        if push is not None:
            push.acknowledged.set()

    def queued(self, room: int) -> None:
        found = self._rooms.get(room)
        if found is not None and found.state is State.BOOTSTRAPPING:
            self._rooms.meet(found, self._bootstrap.decode_of(room))
            self._rooms.progress(room)

    def progressed(self, room: int, pages: int) -> None:
        push = self._pushes.get(room)
        if push is not None:
            push.pages_arrived = pages
            self._rooms.progress(room)

    def aborted(self, room: int, failure: Failure) -> bool:
        if self._rooms.get(room) is None:
            return False
        self._rooms.abort(room, failure)
        return True

    def peer_silent(self, peer: str, beat_s: float, why: str) -> None:
        self._end_shared(peer, beat_s, why)

    def peer_replaced(self, peer: str, why: str) -> None:
        self._end_shared(peer, 0.0, why)

    def _end_shared(self, peer: str, for_s: float, why: str) -> None:
        for room in self._rooms.shared_with(peer, for_s):
            self._rooms.guard("heartbeat_to_decode", room, why)
