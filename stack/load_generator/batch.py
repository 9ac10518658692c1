"""One batch of requests being played: dues, chains of an agent's rounds, and who is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import aiohttp

from chaos.contracts import Request
from chaos.ending import Ending, ending_of
from chaos.event import Kind
from stack.load_generator.exchange import Exchange, Target, again
from stack.load_generator.outbox import Outbox
from stack.load_generator.turnstile import Turnstile

# Agents wait longer before each further try, as API clients do (theirs begin at half a second).
RETRY_PAUSE_S: Final = 0.25
RETRY_PAUSE_MAX_S: Final = 4.0

Transcript = asyncio.Future["str | None"]  # prompt and reply of a round; None: it failed


class Batch:
    """Every request is a task; a later round waits for the transcript of the one before."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        target: Target,
        requests: Sequence[Request],
        outbox: Outbox,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._session = session
        self._target = target
        self._outbox = outbox
        self._start_s = loop.time()
        self._turnstile = Turnstile()
        self._open: dict[str, Exchange] = {}
        self._transcripts: dict[str, Transcript] = {
            request.request_id: loop.create_future() for request in requests
        }
        self._tasks = [loop.create_task(self._play(request)) for request in requests]

    def on_settled(self, settled: Callable[[], None]) -> asyncio.Task[None]:
        """Call back once, when every request has settled or was skipped."""

        async def wait() -> None:
            await asyncio.gather(*self._tasks)
            settled()

        return asyncio.get_running_loop().create_task(wait())

    def exchange(self, request_id: str) -> Exchange | None:
        """The open exchange of this id, or None."""
        return self._open.get(request_id)

    async def give_up(self) -> None:
        """Close every connection; nothing is marked for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _play(self, request: Request) -> None:
        try:
            transcript = await self._round(request)
        except Exception as error:  # noqa: BLE001 - the task's top: our own failure must be told
            self._outbox.mark(Kind.TOOL_ERROR, request.request_id, {"why": repr(error)})
            transcript = None
        self._transcripts[request.request_id].set_result(transcript)

    async def _round(self, request: Request) -> str | None:
        prompt = request.prompt
        if request.after is None:
            await asyncio.sleep(self._start_s + request.due_s - asyncio.get_running_loop().time())
        else:
            before = await asyncio.shield(self._transcripts[request.after])
            if before is None:
                self._outbox.mark(Kind.SKIPPED, request.request_id, {"after": request.after})
                return None
            await asyncio.sleep(request.due_s)
            prompt = before + prompt
        return await self._tries(request, prompt)

    async def _tries(self, request: Request, prompt: str) -> str | None:
        for attempt in range(request.tries_max):
            if attempt:
                await asyncio.sleep(min(RETRY_PAUSE_MAX_S, RETRY_PAUSE_S * 2 ** (attempt - 1)))
            reply = await self._send(again(request, attempt, prompt))
            if reply is not None:
                return prompt + reply
        return None

    async def _send(self, request: Request) -> str | None:
        await self._turnstile.enter()
        exchange = Exchange(self._session, self._target, request, self._outbox)
        self._open[request.request_id] = exchange
        try:
            ending = await exchange.run()
        finally:
            del self._open[request.request_id]
        whole = ending_of(ending.kind, ending.detail) is Ending.COMPLETE
        return exchange.text if whole else None
