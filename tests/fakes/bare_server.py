"""The cheapest server that streams completions: what a load generator is measured against.

`python -m tests.fakes.bare_server --port 23990 --every-s 0.1` writes one event to every open
stream each `every_s`, and `max_tokens` of them to each. It looks only for the end of a request.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from typing import Final

HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
)
TOKENS: Final = re.compile(rb'"max_tokens": ?(\d+)')


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(text: str, finish: str) -> bytes:
    return chunk(
        b'data: {"id":"cmpl-0","object":"text_completion","created":1,"model":"bare","choices":'
        b'[{"index":0,"text":"%s","logprobs":null,"finish_reason":%s}]}\n\n'
        % (text.encode(), finish.encode())
    )


PIECE: Final = event("x", "null")
END: Final = event("", '"length"') + chunk(b"data: [DONE]\n\n") + chunk(b"")


class Stream(asyncio.Protocol):
    """One connection: one request, one streamed reply."""

    def __init__(self, streams: set[Stream]) -> None:
        self._streams = streams
        self._request = b""
        self._transport: asyncio.WriteTransport | None = None
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._request += data
        tokens = TOKENS.search(self._request)
        if tokens is not None and self._request.endswith(b"}"):
            self._left = int(tokens[1])
            self._write(HEAD)
            self._streams.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._streams.discard(self)

    def tick(self) -> None:
        """Write the next event; after the last one, the end."""
        self._left -= 1
        self._write(PIECE)
        if self._left == 0:
            self._write(END)
            self._streams.discard(self)
            assert self._transport is not None
            self._transport.close()

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)


async def serve(port: int, every_s: float) -> None:
    loop = asyncio.get_running_loop()
    streams: set[Stream] = set()
    await loop.create_server(lambda: Stream(streams), "127.0.0.1", port, backlog=4096)
    due_s = loop.time()
    while True:
        due_s = max(due_s + every_s, loop.time())
        await asyncio.sleep(due_s - loop.time())
        for stream in list(streams):
            stream.tick()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--every-s", type=float, required=True)
    chosen = options.parse_args()
    asyncio.run(serve(chosen.port, chosen.every_s))


if __name__ == "__main__":
    main()
