"""A decode's line to one prefill: it reconnects, re-handshakes, and keeps the beat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from stack.engine.guards.heartbeat_to_prefill import HeartbeatToPrefill
from stack.engine.order import Failure
from stack.engine.outbox import Outbox
from stack.engine.wire import LINE_BYTES_MAX, BadFrame, Message, line, read_line

CONNECT_S = 2.0
RECONNECT_S = 0.1


class Listener(Protocol):
    """Who owns the rooms that the messages are about."""

    def failed(self, room: int, failure: Failure) -> None: ...

    def drained(self, room: int, *, wrote: bool) -> None: ...

    def queued(self, room: int) -> None:
        """Its prompt waits for its turn in the prefill, and the queue gets on."""
        ...

    def peer_silent(self, peer: str, beat_s: float, why: str) -> None:
        """Fail what this prefill has shared for at least a beat, which it did not answer."""
        ...

    def peer_replaced(self, peer: str, why: str) -> None:
        """Fail what the instance before knew of; what only waits to be announced goes on."""
        ...


class PrefillPeer:
    """`name` is its address as the router gives it; `connect` may detour through a link."""

    def __init__(
        self,
        name: str,
        hello: bytes,
        heartbeat: HeartbeatToPrefill,
        listener: Listener,
    ) -> None:
        self.name = name
        self._hello = hello
        self._heartbeat = heartbeat
        self._listener = listener
        self._pulse = heartbeat.pulse()
        self._outbox: Outbox | None = None
        self._instance: str | None = None
        self.connected = asyncio.Event()

    def send(self, data: bytes) -> None:
        """Lost when there is no connection: the rooms' timers and heartbeats end what hangs."""
        if self._outbox is not None:
            self._outbox.send(data)

    async def run(self, host: str, port: int) -> None:
        """For ever: be connected."""
        while True:
            try:
                await self._session(host, port)
            except (OSError, BadFrame, KeyError, ValueError):  # tried again below
                pass
            finally:
                self._outbox = None
                self.connected.clear()
            await asyncio.sleep(min(RECONNECT_S, self._heartbeat.interval_s))

    async def beat(self) -> None:
        """For ever: ask whether it lives; no connection is no answer."""
        while self._heartbeat.on:
            await asyncio.sleep(self._heartbeat.interval_s)
            if self._pulse.beat():
                why = self._heartbeat.silence(self.name)
                self._listener.peer_silent(self.name, self._heartbeat.interval_s, why)
            self.send(line("ping"))

    async def _session(self, host: str, port: int) -> None:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(host, port, limit=LINE_BYTES_MAX)
        outbox = Outbox(writer)
        try:
            outbox.send(self._hello)
            async with asyncio.timeout(CONNECT_S):
                welcome = await read_line(reader)
            if welcome is None:
                return
            self._greet(str(welcome["instance"]))
            self._outbox = outbox
            self.connected.set()
            while (message := await read_line(reader)) is not None:
                self._take(message)
        finally:
            outbox.close()

    def _greet(self, instance: str) -> None:
        replaced = self._instance not in (None, instance)
        self._instance = instance
        self._pulse.answer()
        if replaced and self._heartbeat.on:
            self._listener.peer_replaced(self.name, f"{self.name} was replaced by a new instance")

    def _take(self, message: Message) -> None:
        op = message["op"]
        if op == "ping":
            self.send(line("pong"))
        elif op == "pong":
            self._pulse.answer()
        elif op == "queued":
            self._listener.queued(int(message["room"]))
        elif op == "drained":
            self._listener.drained(int(message["room"]), wrote=bool(message["sent"]))
        elif op == "failed":
            room = int(message["room"])
            self._listener.failed(room, Failure(str(message["code"]), str(message["message"])))
            self._listener.drained(room, wrote=bool(message["sent"]))


Peers = Callable[[str, int], PrefillPeer]
