"""A decode's KV port: writes pages where their frames say, as an RDMA card would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from stack.engine.doorway import bound
from stack.engine.wire import DONE, PREAMBLE, BadFrame, Frame, read_frame


@dataclass(slots=True)
class Arrivals:
    """What has come for one room."""

    ordinals: set[int] = field(default_factory=set[int])
    damaged: int = 0


class Arriving(Protocol):
    """Who wants to know."""

    def began(self, room: int) -> None:
        """Its first KV byte is here."""
        ...

    def progressed(self, room: int) -> None:
        """Another page of it is here."""
        ...

    def finished(self, room: int, arrivals: Arrivals, first_token: int) -> None:
        """Its done signal is here, after every page."""
        ...

    def closed(self, room: int) -> None:
        """No further byte can come over its connection."""
        ...


class KvReceiver:
    """`put` writes a payload into a page and returns the checksum of what it wrote.

    The writer alone decides where: a page that belongs to somebody else by now is overwritten
    all the same. Keeping such pages out of use is the quarantine's duty.
    """

    def __init__(self, put: Callable[[int, bytes], int], pages: int, arriving: Arriving) -> None:
        self._put = put
        self._pages = pages
        self._arriving = arriving
        self._connections: dict[int, asyncio.StreamWriter] = {}
        self.pages_received = 0

    async def serve(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._connection, sock=await bound(host, port))

    def open(self, room: int) -> bool:
        return room in self._connections

    def cut(self, room: int) -> None:
        """Nothing of this room may be written any more."""
        writer = self._connections.pop(room, None)
        if writer is not None:
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        room: int | None = None
        try:
            room = int(PREAMBLE.unpack(await reader.readexactly(PREAMBLE.size))[0])
            self._connections[room] = writer
            await self._frames(room, reader)
        except (OSError, EOFError):  # a cut-off transfer; the room's own timers judge it
            pass
        finally:
            writer.close()
            if room is not None:
                self._connections.pop(room, None)
                self._arriving.closed(room)

    async def _frames(self, room: int, reader: asyncio.StreamReader) -> None:
        arrivals = Arrivals()
        begun = await reader.readexactly(1)
        self._arriving.began(room)
        while True:
            frame = await read_frame(reader, begun)
            begun = b""
            if frame.kind == DONE:
                first_token = int(json.loads(frame.payload)["first_token"])
                self._arriving.finished(room, arrivals, first_token)
            else:
                self._take(frame, arrivals)
                self._arriving.progressed(room)

    def _take(self, frame: Frame, arrivals: Arrivals) -> None:
        if not 0 <= frame.page < self._pages:
            raise BadFrame(f"expected a page below {self._pages}, got {frame.page}")
        self.pages_received += 1
        arrivals.ordinals.add(frame.ordinal)
        if self._put(frame.page, frame.payload) != frame.checksum:
            arrivals.damaged += 1
