"""A TCP peer's outgoing side: messages leave in order, and a dead peer is no error here."""

from __future__ import annotations

import asyncio

BACKLOG_BYTES_MAX = 1 << 24


class Outbox:
    """Never waits: what a stuck peer does not take is bounded, then the connection is cut."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def send(self, data: bytes) -> None:
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > BACKLOG_BYTES_MAX:
            transport.abort()
            return
        self._writer.write(data)

    def close(self) -> None:
        self._writer.transport.abort()
