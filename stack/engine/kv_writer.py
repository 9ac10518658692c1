"""A prefill's pen: pushes one room's KV over a connection of its own."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from stack.engine.failpoints import POLL_S, Failpoints
from stack.engine.wire import DONE, PAGE, PREAMBLE, Frame

CONNECT_S = 5.0


class KvWriter:
    """`sent_bytes` counts KV bytes given to the socket, headers included, preamble not."""

    def __init__(self, room: int, request_id: str, failpoints: Failpoints) -> None:
        self._room = room
        self._request_id = request_id
        self._failpoints = failpoints
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.sent_bytes = 0

    async def connect(self, host: str, port: int) -> None:
        async with asyncio.timeout(CONNECT_S):
            self._reader, self._writer = await asyncio.open_connection(host, port)
        self._writer.write(PREAMBLE.pack(self._room))
        await self._writer.drain()

    async def lost(self) -> None:
        """Returns when the other end has closed or reset the connection: it never writes."""
        assert self._reader is not None, "connect comes first"
        with suppress(OSError):
            await self._reader.read(1)

    async def page(self, ordinal: int, page: int, payload: bytes, checksum: int) -> None:
        await self._write(Frame(PAGE, ordinal, page, checksum, payload).pack())

    async def done(self, first_token: int, pages: int) -> None:
        payload = json.dumps({"first_token": first_token, "pages": pages}).encode()
        await self._write(Frame(DONE, pages, 0, 0, payload).pack())

    async def _write(self, data: bytes) -> None:
        data = await self._stopped(data)
        await self._put(data)

    async def _stopped(self, data: bytes) -> bytes:
        """Where a stop_after falls into these bytes: send up to it, and wait there."""
        armed = self._failpoints.stopper(self._request_id)
        if armed is None:
            return data
        room_bytes = max(0, armed.after_bytes - self.sent_bytes)
        if room_bytes >= len(data):
            return data
        await self._put(data[:room_bytes])
        armed.hits += 1
        armed.held += 1
        try:
            while not armed.released:  # noqa: ASYNC110 - a flag that any thread may set
                await asyncio.sleep(POLL_S)
        finally:
            armed.held -= 1
        return data[room_bytes:]

    async def _put(self, data: bytes) -> None:
        assert self._writer is not None, "connect comes first"
        self._writer.write(data)
        self.sent_bytes += len(data)
        await self._writer.drain()

    @property
    def connected(self) -> bool:
        return self._writer is not None

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def abort(self) -> None:
        """Throw away what the socket has not taken yet: no byte follows."""
        if self._writer is not None:
            self._writer.transport.abort()
