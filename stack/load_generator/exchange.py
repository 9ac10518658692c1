"""One request and its reply over one connection of its own, told in marks."""

from __future__ import annotations

import asyncio
import fcntl
import json
import struct
import termios
from dataclasses import dataclass, replace
from typing import Final

import aiohttp

from chaos.contracts import Request
from chaos.event import Json, Kind
from stack.load_generator.outbox import Outbox
from stack.sse_client import CompletionStream, Ending, digest, refusal, whole_reply

ERROR_BYTES_MAX: Final = 1 << 20
CLOSE_WITHIN_S: Final = 5.0  # closing a socket waits for nobody
STATUS_FIRST_ERROR: Final = 300


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. `model` None: the field is left out.

    `id_field`: the body's field that carries an id to the engine's own log, where it has one; as
    "r1#7", of batch 7, since SGLang aborts whoever has the id of a stream that ended two seconds
    ago.
    """

    url: str
    model: str | None = None
    id_field: str | None = None
    batch: int = 0

    def body(self, request: Request) -> dict[str, object]:
        """OpenAI's completion request."""
        body: dict[str, object] = {
            "prompt": request.prompt,
            "max_tokens": request.tokens_max,
            "temperature": request.temperature,
            "stream": request.stream,
        }
        if request.stream:  # engines join tokens into one piece; only they know how many
            body["stream_options"] = {"include_usage": True}
        if self.model is not None:
            body["model"] = self.model
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if self.id_field is not None:
            body[self.id_field] = f"{request.request_id}#{self.batch}"
        return body


class Exchange:
    """From the moment before connecting to the ending. Never ends by a time-out of its own:
    how long a client waits is what an experiment wants to see.
    """

    def __init__(
        self, session: aiohttp.ClientSession, target: Target, request: Request, outbox: Outbox
    ) -> None:
        self._session = session
        self._target = target
        self._request = request
        self._outbox = outbox
        self._task: asyncio.Task[None] | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._hung_up = False
        self._closed = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self.text = ""  # the reply, as far as it came

    async def run(self) -> Ending:
        """Play it; the ending has been marked when this returns."""
        self._task = asyncio.current_task()
        request = self._request
        self._outbox.mark(Kind.SENT, request.request_id, asked(request))
        try:
            ending = await self._reply()
        except asyncio.CancelledError:
            if not self._hung_up or (self._task and self._task.uncancel()):
                raise  # the whole batch is being given up
            ending = Ending(Kind.CANCELLED)
        except (aiohttp.ClientError, OSError) as error:
            ending = CompletionStream().ending(cut=repr(error))
        finally:
            self._closed.set()
        self._outbox.mark(ending.kind, request.request_id, ending.detail)
        return ending

    async def hang_up(self) -> bool:
        """Close the connection on purpose; the ending is CANCELLED. Returns when it is closed."""
        if self._task is None or self._closed.is_set():
            return False
        self._hung_up = True
        self._task.cancel()
        await asyncio.wait_for(self._closed.wait(), CLOSE_WITHIN_S)
        return True

    def pause(self) -> bool:
        """Stop reading at the socket: what comes backs up in the kernel, then at the sender.

        False: no reply has begun, or reading had stopped before.
        """
        transport = self._transport()
        if transport is None or not self._reading.is_set():
            return False
        self._reading.clear()
        transport.pause_reading()
        return True

    def resume(self) -> bool:
        """False: it is being read already."""
        if self._reading.is_set():
            return False
        self._reading.set()
        transport = self._transport()
        if transport is not None:
            transport.resume_reading()
        return True

    def unread_bytes(self) -> int | None:
        """How many bytes of the reply wait in our socket; None without a connection."""
        transport = self._transport()
        if transport is None:
            return None
        descriptor: int = transport.get_extra_info("socket").fileno()
        return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0]

    def _transport(self) -> asyncio.Transport | None:
        connection = self._response.connection if self._response is not None else None
        transport = connection.transport if connection is not None else None
        return transport if isinstance(transport, asyncio.Transport) else None

    async def _reply(self) -> Ending:
        request = self._request
        headers = {"X-Request-ID": request.request_id, "Accept-Encoding": "identity"}
        if request.routing_key is not None:
            headers["X-SMG-Routing-Key"] = request.routing_key
        async with self._session.post(
            f"{self._target.url}/v1/completions",
            json=self._target.body(request),
            headers=headers,
            allow_redirects=False,
        ) as response:
            self._response = response
            if response.status >= STATUS_FIRST_ERROR:
                return refusal(response.status, await response.content.read(ERROR_BYTES_MAX))
            if request.stream:
                return await self._streamed(response)
            return await self._whole(response)

    async def _whole(self, response: aiohttp.ClientResponse) -> Ending:
        body = b""
        while chunk := await self._read(response):
            body += chunk
        ending, self.text = whole_reply(body)
        if self.text:
            self._tokens(self.text)
        return ending

    async def _streamed(self, response: aiohttp.ClientResponse) -> Ending:
        stream = CompletionStream()
        cut: str | None = None
        try:
            while chunk := await self._read(response):
                for piece in stream.feed(chunk):
                    self._tokens(piece)
        except (aiohttp.ClientError, OSError) as error:
            cut = repr(error)
        self.text = stream.text
        return stream.ending(cut)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The next chunk of the body, in time or, while paused, later. Empty: it has ended."""
        chunk = await response.content.readany()
        if not self._reading.is_set():
            transport = self._transport()
            if transport is not None:
                transport.pause_reading()  # once more: each read of aiohttp's resumes it
            await self._reading.wait()
        return chunk

    def _tokens(self, piece: str) -> None:
        self._outbox.mark(Kind.TOKENS, self._request.request_id, {"text": piece})


def asked(request: Request) -> dict[str, Json]:
    """What was asked for: a reply is held against it, whatever the control's was."""
    return {
        "routing_key": request.routing_key,
        "prompt_bytes": len(request.prompt.encode()),
        "prompt_sha256": digest(request.prompt),
        "tokens_max": request.tokens_max,
        "temperature": request.temperature,
        "stop": json.dumps(request.stop) if request.stop else None,
    }


def again(request: Request, attempt: int, prompt: str) -> Request:
    """The request of this try: the first keeps its id, later ones are "<id>+1", "<id>+2"."""
    name = request.request_id if attempt == 0 else f"{request.request_id}+{attempt}"
    return replace(request, request_id=name, prompt=prompt)
