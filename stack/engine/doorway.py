"""Binding a port that the worker before us may be just about to give back."""

from __future__ import annotations

import asyncio
import errno
import socket

BIND_WITHIN_S = 3.0
_AGAIN_S = 0.02


async def bound(host: str, port: int, send_buffer_bytes: int | None = None) -> socket.socket:
    """A bound socket, not yet listening. Raises OSError when the port stays taken.

    `send_buffer_bytes` is inherited by every connection that it accepts.
    """
    deadline_s = asyncio.get_running_loop().time() + BIND_WITHIN_S
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if send_buffer_bytes is not None:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    while True:
        try:
            door.bind((host, port))
        except OSError as error:
            late = asyncio.get_running_loop().time() >= deadline_s
            if error.errno != errno.EADDRINUSE or late:
                door.close()
                raise
            await asyncio.sleep(_AGAIN_S)
        else:
            return door
