"""How much of a reply nobody has read yet: ours and the kernel's, on a real socket."""

import asyncio
import socket
from types import SimpleNamespace
from typing import cast

from aiohttp import web

from stack.engine.event_stream import EventStream
from stack.engine.guards.stream_idle_guard import StreamIdleGuard

BOUND_S = 10.0
PIECE = bytes(1024)


async def _drained_in_the_kernel_alone() -> bool:
    """Whether it is seen that a slow reader took some bytes, before our own buffer shrinks."""
    server, client = socket.socketpair()
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=server)
    request = cast("web.Request", SimpleNamespace(transport=transport))
    stream = EventStream(request, StreamIdleGuard(on=True, timeout_s=1.0))
    try:
        while not transport.get_write_buffer_size():
            transport.write(PIECE)
        ours, before = transport.get_write_buffer_size(), stream.unread_bytes()
        assert before > ours > 0
        await loop.sock_recv(client, 1)
        async with asyncio.timeout(BOUND_S):
            while stream.unread_bytes() == before and transport.get_write_buffer_size() == ours:
                await loop.sock_recv(client, 1)
        return transport.get_write_buffer_size() == ours
    finally:
        transport.abort()
        client.close()


def test_a_reader_who_takes_a_byte_of_the_kernel_s_buffer_is_no_idle_reader() -> None:
    assert asyncio.run(_drained_in_the_kernel_alone())
