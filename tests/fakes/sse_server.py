"""A small real server of /v1/completions that ends its replies as a test tells it to."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import queue
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import web

PORTS: Final = range(23_000, 23_900)
SOON_S: Final = 10.0

Reply = Callable[["Asked"], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Asked:
    """One request as it came, and the way to answer it piece by piece."""

    request: web.Request
    body: Mapping[str, Any]
    response: web.StreamResponse = field(
        default_factory=lambda: web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    )

    @property
    def request_id(self) -> str:
        return self.request.headers.get("X-Request-ID", "")

    async def begin(self) -> None:
        await self.response.prepare(self.request)

    async def say(self, *lines: str) -> None:
        for line in lines:
            await self.response.write(line.encode())

    def cut(self) -> None:
        """Close the connection without a proper end."""
        assert self.request.transport is not None
        self.request.transport.abort()

    def linger(self, seconds: int) -> None:
        """How long a close may wait for the client; 0: it is a reset."""
        assert self.request.transport is not None
        connection = self.request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, seconds))


def event(payload: Mapping[str, object] | str) -> str:
    return f"data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n"


def piece(text: str, finish_reason: str | None = None) -> str:
    return event({"choices": [{"index": 0, "text": text, "finish_reason": finish_reason}]})


DONE: Final = event("[DONE]")


async def complete(asked: Asked) -> web.StreamResponse:
    """A good reply, one letter for each token: it depends on the whole prompt."""
    text = reply_to(asked.body["prompt"], asked.body["max_tokens"])
    if not asked.body["stream"]:
        choice = {"index": 0, "text": text, "finish_reason": "length"}
        return web.json_response({"choices": [choice], "usage": {"completion_tokens": len(text)}})
    await asked.begin()
    await asked.say(*(piece(letter) for letter in text), piece("", "length"), DONE)
    return asked.response


def reply_to(prompt: str, tokens: int) -> str:
    """What `complete` answers."""
    start = sum(prompt.encode()) + len(prompt)
    return "".join(chr(97 + (start + index) % 26) for index in range(tokens))


async def stalled(asked: Asked) -> web.StreamResponse:
    """Two pieces, and then nothing until the client leaves."""
    await asked.begin()
    await asked.say(piece("a"), piece("b"))
    await asyncio.Event().wait()
    return asked.response


async def silent(asked: Asked) -> web.StreamResponse:
    """Not even a head."""
    await asyncio.Event().wait()
    return asked.response


async def endless(asked: Asked) -> web.StreamResponse:
    """Pieces as fast as they go, until nobody takes them or the client leaves."""
    await asked.begin()
    while True:
        await asked.say(piece("x" * 1000))
        await asyncio.sleep(0)


class SseServer:
    """Serves in a thread of its own while inside. `replies` by request id; the rest `complete`."""

    def __init__(self, replies: Mapping[str, Reply] | None = None) -> None:
        self.replies = dict(replies or {})
        self.asked: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        self.left: queue.SimpleQueue[str] = queue.SimpleQueue()  # ids of clients that went away
        self._listening = listen()
        host, port = self._listening.getsockname()
        self.url = f"http://{host}:{port}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def next_asked(self) -> Asked:
        """The next request that came. queue.Empty: none came soon."""
        return self.asked.get(timeout=SOON_S)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._open())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._call(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SOON_S)
        self._loop.close()

    def _call(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(SOON_S)

    async def _open(self) -> None:
        application = web.Application(client_max_size=1 << 26)
        application.router.add_post("/v1/completions", self._complete)
        application.router.add_get("/health", _healthy)
        self._runner = web.AppRunner(
            application, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.SockSite(self._runner, self._listening).start()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(request, await request.json())
        self.asked.put(asked)
        reply = self.replies.get(asked.request_id, complete)
        try:
            return await reply(asked)
        except (asyncio.CancelledError, ConnectionError):
            self.left.put(asked.request_id)
            raise


async def _healthy(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="ok")


def listen(ports: Sequence[int] = PORTS) -> socket.socket:
    """A socket that listens on a free port; test workers begin at different places."""
    start = os.getpid() * 7 % len(ports)
    for port in (*ports[start:], *ports[:start]):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            listening.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        listening.listen(4096)
        return listening
    raise OSError(f"no port between {ports[0]} and {ports[-1]} is free")
