"""A prefill's bootstrap port: decodes come here, announce pages, acknowledge and abort."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stack.engine.doorway import bound
from stack.engine.guards.heartbeat import Pulse
from stack.engine.guards.heartbeat_to_decode import HeartbeatToDecode
from stack.engine.order import Failure
from stack.engine.outbox import Outbox
from stack.engine.wire import LINE_BYTES_MAX, BadFrame, Message, line, read_line

REMEMBERED_MAX = 4096  # rooms that are over, so that a late message finds an answer


@dataclass(frozen=True, slots=True)
class Announcement:
    """The decode's pages for one prompt, in order, and where to push them."""

    peer: str
    kv_port: int
    pages: tuple[int, ...]


@dataclass(slots=True)
class DecodePeer:
    """A decode, known by its name; its connection comes and goes."""

    name: str
    instance: str
    kv_port: int
    pulse: Pulse
    outbox: Outbox | None = None

    def send(self, data: bytes) -> None:
        if self.outbox is not None:
            self.outbox.send(data)


class Listener(Protocol):
    """Who owns the rooms that the messages are about."""

    def acknowledged(self, room: int) -> None: ...

    def queued(self, room: int) -> None:
        """The decode has shaken hands; the request waits for pages there, and the queue gets on."""
        ...

    def progressed(self, room: int, pages: int) -> None:
        """The decode has received that many pages of it."""
        ...

    def aborted(self, room: int, failure: Failure) -> bool:
        """False when it has no such room."""
        ...

    def peer_silent(self, peer: str, beat_s: float, why: str) -> None:
        """Fail what this decode has shared for at least a beat, which it did not answer."""
        ...

    def peer_replaced(self, peer: str, why: str) -> None:
        """Fail what was shared with the one before it."""
        ...


class BootstrapServer:
    """Messages about a room may come before the room itself: they are kept for it."""

    def __init__(
        self, instance: str, heartbeat: HeartbeatToDecode, listener: Callable[[], Listener]
    ) -> None:
        self._instance = instance
        self._heartbeat = heartbeat
        self._listener = listener
        self._peers: dict[str, DecodePeer] = {}
        self._decodes: OrderedDict[int, str] = OrderedDict()  # in whose queue a room's request is
        self._announced: dict[int, asyncio.Future[Announcement]] = {}
        self._over: OrderedDict[int, tuple[Failure | None, int]] = OrderedDict()

    async def serve(self, host: str, port: int) -> asyncio.Server:
        door = await bound(host, port)
        return await asyncio.start_server(self._connection, sock=door, limit=LINE_BYTES_MAX)

    async def announcement(self, room: int) -> Announcement:
        """Waits for ever: the room's own timer bounds it."""
        return await self._slot(room)

    def decode_of(self, room: int) -> str | None:
        """Who has shaken hands about it; None: nobody yet."""
        return self._decodes.get(room)

    def early_abort(self, room: int) -> Failure | None:
        """The decode gave it up before the request reached us."""
        over = self._over.get(room)
        return over[0] if over else None

    def conclude(self, room: int, peer: str | None, failure: Failure | None, sent: int) -> None:
        """The room is over and nothing more will be written; a failed one is told."""
        self._decodes.pop(room, None)
        slot = self._announced.pop(room, None)
        if slot is not None:
            slot.cancel()
        self._remember(room, failure, sent)
        if failure is not None:
            text = {"code": failure.code, "message": failure.message}
            self.tell(peer, line("failed", room=room, sent=sent, **text))

    def tell(self, peer: str | None, data: bytes) -> None:
        """A word to a decode. Lost where it is not connected."""
        known = self._peers.get(peer) if peer else None
        if known is not None:
            known.send(data)

    async def beat(self) -> None:
        """Send heartbeats for ever; declare peers dead when their answers stay away."""
        while self._heartbeat.on:
            await asyncio.sleep(self._heartbeat.interval_s)
            for peer in list(self._peers.values()):
                if peer.pulse.beat():
                    why = self._heartbeat.silence(peer.name)
                    self._listener().peer_silent(peer.name, self._heartbeat.interval_s, why)
                peer.send(line("ping"))

    def _slot(self, room: int) -> asyncio.Future[Announcement]:
        if room not in self._announced:
            self._announced[room] = asyncio.get_running_loop().create_future()
            while len(self._announced) > REMEMBERED_MAX:
                self._announced.pop(next(iter(self._announced))).cancel()
        return self._announced[room]

    def _remember(self, room: int, failure: Failure | None, sent: int) -> None:
        self._over[room] = failure, sent
        while len(self._over) > REMEMBERED_MAX:
            self._over.popitem(last=False)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer: DecodePeer | None = None
        outbox = Outbox(writer)
        try:
            hello = await read_line(reader)
            if hello is None or hello.get("op") != "hello":
                return
            peer = self._greet(hello, outbox)
            while (message := await read_line(reader)) is not None:
                self._take(peer, message)
        except (BadFrame, OSError, KeyError, ValueError):  # nonsense: the decode reconnects
            pass
        finally:
            outbox.close()
            if peer is not None and peer.outbox is outbox:
                peer.outbox = None

    def _greet(self, hello: Message, outbox: Outbox) -> DecodePeer:
        name, instance = str(hello["name"]), str(hello["instance"])
        before = self._peers.get(name)
        if before is not None and before.instance != instance and self._heartbeat.on:
            self._listener().peer_replaced(name, f"{name} was replaced by a new instance")
        peer = DecodePeer(name, instance, int(hello["kv_port"]), self._heartbeat.pulse(), outbox)
        self._peers[name] = peer
        peer.send(line("welcome", instance=self._instance))
        return peer

    def _take(self, peer: DecodePeer, message: Message) -> None:
        op, room = message["op"], int(message.get("room", 0))
        if op == "ping":
            peer.send(line("pong"))
        elif op == "pong":
            peer.pulse.answer()
        elif op == "announce":
            self._announce(peer, room, message)
        elif op == "queued":
            self._queued(peer, room)
        elif op == "progress":
            self._listener().progressed(room, int(message["pages"]))
        elif op == "ack":
            self._listener().acknowledged(room)
        elif op == "abort":
            self._abort(peer, room, message)

    def _is_over(self, peer: DecodePeer, room: int) -> bool:
        """Whether it has ended here; a decode that comes too late to a failed one is told."""
        failure, sent = self._over.get(room, (None, 0))
        if failure is not None:
            text = {"code": failure.code, "message": failure.message}
            peer.send(line("failed", room=room, sent=sent, **text))
        return room in self._over

    def _queued(self, peer: DecodePeer, room: int) -> None:
        if not self._is_over(peer, room):
            self._decodes[room] = peer.name
            while len(self._decodes) > REMEMBERED_MAX:
                self._decodes.popitem(last=False)
            self._listener().queued(room)

    def _announce(self, peer: DecodePeer, room: int, message: Message) -> None:
        if self._is_over(peer, room):
            return
        slot = self._slot(room)
        if not slot.done():
            pages = tuple(int(page) for page in message["pages"])
            slot.set_result(Announcement(peer.name, peer.kv_port, pages))

    def _abort(self, peer: DecodePeer, room: int, message: Message) -> None:
        failure = Failure(str(message["code"]), f"{peer.name} ended it: {message['message']}")
        if self._listener().aborted(room, failure):
            return  # `conclude` answers once the writer has stopped
        if room not in self._over:
            self._remember(room, failure, 0)
        peer.send(line("drained", room=room, sent=self._over[room][1]))
