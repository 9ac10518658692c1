"""A decode's part in every room: find the prefill, announce pages, take the KV, run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from chaos.stage import Stage
from stack.engine.decode_scheduler import DecodeScheduler
from stack.engine.ending import Ending
from stack.engine.failpoints import Failpoints
from stack.engine.guards.kv_verification import KvVerification
from stack.engine.guards.page_quarantine import PageQuarantine
from stack.engine.kv_receiver import Arrivals, KvReceiver
from stack.engine.ledger import Ledger
from stack.engine.order import Failure
from stack.engine.prefill_peer import PrefillPeer
from stack.engine.room import Room, State
from stack.engine.rooms import SWEEP_S, TELL_S, Rooms
from stack.engine.step_loop import StepLoop
from stack.engine.wire import line

Told = Callable[[int, list[int], Ending | None], None]


@dataclass(slots=True)
class Wanted:
    """What one room waits for, in this order."""

    pages: asyncio.Future[list[int]] = field(default_factory=asyncio.Future[list[int]])
    arrived: asyncio.Future[tuple[Arrivals, int]] = field(
        default_factory=asyncio.Future[tuple[Arrivals, int]]
    )
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    acknowledged: bool = False
    writer_stopped: bool = False  # the prefill said so
    wrote: bool = False  # and that it had sent something before
    complete: bool = False  # its done signal came: nothing further will be written
    kv_closed: bool = False  # its KV connection came and went
    pages_here: int = 0
    telling: asyncio.TimerHandle | None = None  # the prefill will hear how many those are


class DecodeSide:
    """Runs in the IO thread's loop; `tell` hands tokens to the front."""

    def __init__(
        self,
        ledger: Ledger,
        failpoints: Failpoints,
        rooms: Rooms,
        tell: Told,
        peer: Callable[[str, int], PrefillPeer],
    ) -> None:
        self._ledger = ledger
        self._failpoints = failpoints
        self._rooms = rooms
        self._tell = tell
        self._peer = peer
        self._wanted: dict[int, Wanted] = {}
        self._peers: dict[int, PrefillPeer] = {}
        self._prompts_queued = 0  # how often prefills said that a prompt waits for its turn

    def attach(
        self,
        step: StepLoop,
        scheduler: DecodeScheduler,
        receiver: KvReceiver,
        quarantine: PageQuarantine,
        verification: KvVerification,
    ) -> None:
        self._step = step
        self._scheduler = scheduler
        self._receiver = receiver
        self._quarantine = quarantine
        self._verification = verification

    async def live(self, room: Room) -> None:
        order = room.order
        wanted = self._wanted[room.number] = Wanted()
        self._ledger.enter(room.number, order.request_id, Stage.BOOTSTRAP)
        arrived = await self._failpoints.passing("bootstrap.enter", order.request_id)
        peer = self._peers[room.number] = self._peer(order.host, order.port)
        self._rooms.meet(room, peer.name)
        await peer.connected.wait()
        if not arrived:  # the handshake was lost: its timer ends it
            await asyncio.Event().wait()
        await self._failpoints.passing("admit.enter", order.request_id)
        self._step.call(partial(self._scheduler.submit, order))
        await self._announce(room, peer, await self._pages(room, peer, wanted))
        arrivals, first_token = await wanted.arrived
        await self._verify(room, arrivals, len(await wanted.pages))
        self._ledger.enter(room.number, order.request_id, Stage.HANDOVER)
        if await self._failpoints.passing("handover.ack", order.request_id):
            peer.send(line("ack", room=room.number))
        wanted.acknowledged = True
        self._rooms.move(room, State.SUCCESS)
        self._ledger.enter(room.number, order.request_id, Stage.DECODE)
        self._step.call(partial(self._scheduler.start, room.number, first_token))
        await wanted.ended.wait()

    async def _pages(self, room: Room, peer: PrefillPeer, wanted: Wanted) -> list[int]:
        """Wait in the queue for pages. While this decode gets on, no clock runs on either side."""
        peer.send(line("queued", room=room.number))
        before = self._got_on()
        while not (await asyncio.wait({wanted.pages}, timeout=TELL_S))[0]:
            now = self._got_on()
            if now != before:
                self._rooms.progress(room.number)
                peer.send(line("queued", room=room.number))
            before = now
        return wanted.pages.result()

    def _got_on(self) -> int:
        """Moves with each token made, each page received, and each word that a prefill gets on:
        whoever holds pages comes closer to giving them back."""
        pages = self._receiver.pages_received
        return self._scheduler.progress + pages + self._prompts_queued

    async def _announce(self, room: Room, peer: PrefillPeer, pages: list[int]) -> None:
        told = await self._failpoints.passing("bootstrap.metadata", room.order.request_id)
        self._rooms.move(room, State.WAITING_FOR_INPUT)
        self._ledger.enter(room.number, room.order.request_id, Stage.ADMIT)
        room.announced = told
        if told:
            peer.send(line("announce", room=room.number, pages=pages))

    async def _verify(self, room: Room, arrivals: Arrivals, expected: int) -> None:
        why = self._verification.complaint(expected, len(arrivals.ordinals), arrivals.damaged)
        if why is not None:
            self._rooms.guard(self._verification.name, room, why)
            await asyncio.Event().wait()  # where the failed room's cancellation comes in

    async def undo(self, room: Room) -> None:
        """Free its pages: at once where nobody can write into them any more, else later."""
        wanted = self._wanted.pop(room.number)
        peer = self._peers.pop(room.number, None)
        failure = room.failure
        told = wanted.acknowledged or wanted.writer_stopped
        if peer is not None and failure is not None and not told:
            text = {"code": failure.code, "message": failure.message}
            peer.send(line("abort", room=room.number, **text))
        exposed = room.announced and not wanted.complete
        held = failure is not None and exposed and self._quarantine.on
        if held:
            self._hold(room, wanted)
        self._step.call(partial(self._scheduler.release, room.number, quarantined=held))

    def _hold(self, room: Room, wanted: Wanted) -> None:
        number, now_s = room.number, time.monotonic()
        self._quarantine.admit(number, now_s, ended=wanted.kv_closed)
        if wanted.writer_stopped:
            self._quarantine.acknowledge(number, wrote=wanted.wrote)
        why = "its pages wait until their writer is done"
        self._ledger.guarded(self._quarantine.name, room.order.request_id, why, number)

    async def watch_drains(self) -> None:
        """For ever: free quarantined pages that are safe, or that waited long enough."""
        while True:
            await asyncio.sleep(SWEEP_S)
            for number in self._quarantine.drained():
                self._step.call(partial(self._scheduler.pool.discharge, number))
            for number in self._quarantine.overdue(time.monotonic()):
                self._ledger.counts["drain_timeouts"] += 1
                self._receiver.cut(number)
                self._step.call(partial(self._scheduler.pool.discharge, number))

    # What the step thread made.

    def allocated(self, room: int, pages: list[int]) -> None:
        wanted = self._wanted.get(room)
        if wanted is not None and not wanted.pages.done():
            wanted.pages.set_result(pages)

    def tokens(self, room: int, tokens: list[int], ending: Ending | None) -> None:
        wanted = self._wanted.get(room)
        if wanted is None:
            return
        self._tell(room, tokens, ending)
        if ending is not None:
            wanted.ended.set()

    def broken(self, room: int, failure: Failure) -> None:
        found = self._rooms.get(room)
        if found is not None:
            self._rooms.fail(found, failure)

    # What comes over the KV link.

    def began(self, room: int) -> None:
        found = self._rooms.get(room)
        if found is not None and found.state is State.WAITING_FOR_INPUT:
            self._rooms.move(found, State.TRANSFERRING)
            self._ledger.enter(room, found.order.request_id, Stage.TRANSFER)

    def progressed(self, room: int) -> None:
        """The prefill hears of it soon: its watchdog tells slow from stuck by this."""
        wanted = self._wanted.get(room)
        if wanted is None:
            return
        wanted.pages_here += 1
        if wanted.telling is None:
            loop = asyncio.get_running_loop()
            wanted.telling = loop.call_later(TELL_S, self._tell_progress, room, wanted)

    def _tell_progress(self, room: int, wanted: Wanted) -> None:
        wanted.telling = None
        peer = self._peers.get(room)
        if self._wanted.get(room) is wanted and peer is not None and not wanted.acknowledged:
            peer.send(line("progress", room=room, pages=wanted.pages_here))

    def finished(self, room: int, arrivals: Arrivals, first_token: int) -> None:
        wanted = self._wanted.get(room)
        if wanted is not None and not wanted.arrived.done():
            wanted.complete = True
            wanted.arrived.set_result((arrivals, first_token))

    def closed(self, room: int) -> None:
        self._quarantine.connection(room, ended=True)
        wanted = self._wanted.get(room)
        if wanted is not None:
            wanted.kv_closed = True

    # What the prefill says.

    def failed(self, room: int, failure: Failure) -> None:
        found = self._rooms.get(room)
        if found is not None and found.state is not State.SUCCESS:
            self._rooms.fail(found, failure)

    def drained(self, room: int, *, wrote: bool) -> None:
        self._quarantine.acknowledge(room, wrote=wrote)
        wanted = self._wanted.get(room)
        if wanted is not None:
            wanted.writer_stopped, wanted.wrote = True, wrote

    def queued(self, room: int) -> None:
        self._prompts_queued += 1
        self._rooms.progress(room)

    def peer_silent(self, peer: str, beat_s: float, why: str) -> None:
        for room in self._rooms.shared_with(peer, for_s=beat_s):
            self._rooms.guard("heartbeat_to_prefill", room, why)

    def peer_replaced(self, peer: str, why: str) -> None:
        for room in self._rooms.shared_with(peer):
            if room.announced:
                self._rooms.guard("heartbeat_to_prefill", room, why)
