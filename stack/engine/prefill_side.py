"""A prefill's part in every room: wait for the decode, push the pages, wait for its word."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from chaos.stage import Stage
from stack.engine.bootstrap_server import Announcement, BootstrapServer
from stack.engine.config import WorkerConfig
from stack.engine.failpoints import Failpoints
from stack.engine.kv_writer import KvWriter
from stack.engine.ledger import Ledger
from stack.engine.order import Failure
from stack.engine.prefill_scheduler import PrefillScheduler
from stack.engine.room import Room, State
from stack.engine.rooms import Rooms
from stack.engine.step_loop import StepLoop


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


class PrefillSide:
    """Runs in the IO thread's loop; the step thread is reached through `step.call`."""

    def __init__(
        self,
        config: WorkerConfig,
        ledger: Ledger,
        failpoints: Failpoints,
        rooms: Rooms,
        bootstrap: BootstrapServer,
        handed_over: Callable[[int], None],
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._failpoints = failpoints
        self._rooms = rooms
        self._bootstrap = bootstrap
        self._handed_over = handed_over
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
        early = self._bootstrap.early_abort(room.number)
        if early is not None:
            self._rooms.fail(room, early)
        arrived = await self._failpoints.passing("bootstrap.enter", order.request_id)
        where = await self._bootstrap.announcement(room.number)
        if not arrived:  # the handshake was lost: its timer ends it
            await asyncio.Event().wait()
        room.peer = where.peer
        self._rooms.move(room, State.WAITING_FOR_INPUT)
        self._ledger.enter(room.number, order.request_id, Stage.PREFILL)
        assert self._step is not None
        assert self._scheduler is not None
        self._step.call(partial(self._scheduler.submit, order))
        await self._transfer(room, push, where)
        await self._acknowledged(push)
        self._rooms.move(room, State.SUCCESS)
        self._handed_over(room.number)

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
        self._make(room, Page(ordinal, payload, checksum))

    def computed(self, room: int, first_token: int) -> None:
        self._make(room, first_token)

    def _make(self, room: int, made: Page | int) -> None:
        push = self._pushes.get(room)
        if push is not None:
            push.made.put_nowait(made)

    def broken(self, room: int, failure: Failure) -> None:
        found = self._rooms.get(room)
        if found is not None:
            self._rooms.fail(found, failure)

    # What the decode says.

    def acknowledged(self, room: int) -> None:
        push = self._pushes.get(room)
        if push is not None:
            push.acknowledged.set()

    def progressed(self, room: int) -> None:
        self._rooms.progress(room)

    def aborted(self, room: int, failure: Failure) -> bool:
        if self._rooms.get(room) is None:
            return False
        self._rooms.abort(room, failure)
        return True

    def peer_lost(self, peer: str, why: str) -> None:
        for room in self._rooms:
            if room.peer == peer and room.state is not State.SUCCESS:
                self._rooms.guard("heartbeat_to_decode", room, why)
