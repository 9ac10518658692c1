"""Server-sent events to one client, who may have stopped reading."""

from __future__ import annotations

import asyncio
import fcntl
import json
import sys
import termios
import time

from aiohttp import web

from stack.engine.guards.stream_idle_guard import StreamIdleGuard

BUFFER_BYTES_HIGH = 16384
LOOK_S = 0.05


class Unheard(Exception):
    """The stream idle guard gave this reader up."""


class EventStream:
    """Opened by the first event: until then an error can still be an honest status."""

    def __init__(self, request: web.Request, guard: StreamIdleGuard) -> None:
        self._request = request
        self._guard = guard
        self._response: web.StreamResponse | None = None

    @property
    def begun(self) -> bool:
        return self._response is not None

    async def send(self, event: object) -> None:
        """Raises Unheard."""
        await self._write(f"data: {json.dumps(event)}\n\n".encode())

    async def done(self) -> web.StreamResponse:
        await self._write(b"data: [DONE]\n\n")
        return await self.end()

    async def end(self) -> web.StreamResponse:
        response = await self._begin()
        await response.write_eof()
        return response

    def cut(self) -> None:
        """Close the connection without an end, so that nobody takes it for one."""
        if self._request.transport is not None:
            self._request.transport.abort()

    async def _begin(self) -> web.StreamResponse:
        if self._response is None:
            headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
            self._response = web.StreamResponse(headers=headers)
            await self._response.prepare(self._request)
            if self._request.transport is not None:
                # Small, so that an unread reply is noticed before it is megabytes long.
                self._request.transport.set_write_buffer_limits(BUFFER_BYTES_HIGH)
        return self._response

    async def _write(self, data: bytes) -> None:
        response = await self._begin()
        if self._buffered_bytes() < BUFFER_BYTES_HIGH // 2:
            await response.write(data)
            return
        writing = asyncio.ensure_future(response.write(data))
        unread = self._guard.watch(time.monotonic(), self.unread_bytes())
        try:
            while not (await asyncio.wait({writing}, timeout=LOOK_S))[0]:
                if unread.idle(time.monotonic(), self.unread_bytes()):
                    raise Unheard(f"nobody read for {self._guard.timeout_s:g} s")
            writing.result()
        finally:
            writing.cancel()

    def _buffered_bytes(self) -> int:
        transport = self._request.transport
        return transport.get_write_buffer_size() if transport is not None else 0

    def unread_bytes(self) -> int:
        """With those in the kernel: a slow reader drains them long before it drains ours."""
        transport = self._request.transport
        connection = transport.get_extra_info("socket") if transport is not None else None
        if connection is None or connection.fileno() < 0:
            return 0
        told = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
        return self._buffered_bytes() + int.from_bytes(told, sys.byteorder)
