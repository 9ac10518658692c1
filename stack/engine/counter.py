"""Where requests come in and replies go out: one worker's public HTTP API."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from aiohttp import web

from chaos.stage import Stage
from stack.engine.asked import Asked, BadRequest, parse
from stack.engine.engine_link import EngineLink, Leg, Said, Tokens
from stack.engine.event_stream import EventStream, Unheard
from stack.engine.failpoints import Failpoints, Injected
from stack.engine.guards.abort_propagation import AbortPropagation
from stack.engine.guards.admission_bounds import AdmissionBounds
from stack.engine.guards.drain import Drain
from stack.engine.guards.stream_idle_guard import StreamIdleGuard
from stack.engine.ledger import Ledger
from stack.engine.order import BAD_REQUEST, Failure
from stack.engine.reply import Reply
from stack.engine.reply_shapes import shape_for

Heard = asyncio.Queue[tuple[int, Said]]


@dataclass(frozen=True, slots=True)
class FrontGuards:
    abort: AbortPropagation
    admission: AdmissionBounds
    idle: StreamIdleGuard
    drain: Drain


class Ended(Exception):
    """The engine ended a request badly."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Counter:
    """A prefill answers when the KV was handed over; a decode streams the reply."""

    def __init__(
        self,
        role: str,
        link: EngineLink,
        ledger: Ledger,
        failpoints: Failpoints,
        guards: FrontGuards,
    ) -> None:
        self._prefill = role == "prefill"
        self._link = link
        self._ledger = ledger
        self._failpoints = failpoints
        self._guards = guards
        self.serving = 0  # requests whose reply is not written yet

    async def completions(self, request: web.Request) -> web.StreamResponse:
        return await self._take(request, "completion")

    async def chat(self, request: web.Request) -> web.StreamResponse:
        return await self._take(request, "chat")

    async def generate(self, request: web.Request) -> web.StreamResponse:
        return await self._take(request, "generate")

    async def _take(self, request: web.Request, api: str) -> web.StreamResponse:
        try:
            asked = await self._parsed(request, api)
        except BadRequest as error:
            return error_reply(Failure("bad_request", str(error), BAD_REQUEST))
        refusal = self._guards.drain.refusal() or self._guards.admission.refusal(
            list(asked.orders), self._open_here()
        )
        if refusal is not None:
            self._ledger.guarded(
                refusal.code, asked.request_id, refusal.message, asked.orders[0].room
            )
            return error_reply(refusal)
        self.serving += 1
        try:
            return await self._serve(request, asked)
        finally:
            self.serving -= 1

    def _open_here(self) -> int:
        """Who runs or waits here; who waits for a decode's pages is in that decode's queue."""
        legs = self._link.legs.values()
        return sum(leg.begun for leg in legs) if self._prefill else len(legs)

    async def _parsed(self, request: web.Request, api: str) -> Asked:
        try:
            body: object = await request.json()
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise BadRequest(f"the body is not JSON: {error}") from error
        headers = request.headers
        return parse(api, body, headers.get("X-Request-ID"), headers.get("x-smg-routing-key"))

    async def _serve(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        stream = EventStream(request, self._guards.idle)
        heard: Heard = asyncio.Queue()
        legs = [Leg(index, order, heard) for index, order in enumerate(asked.orders)]
        why = "the reply was given up"
        try:
            return await self._answer(request, asked, legs, stream)
        except (Ended, Injected) as error:
            failure = error.failure if isinstance(error, Ended) else _injected(error)
            return await self._fail(stream, failure)
        except Unheard as error:
            why = str(error)
            self._ledger.guarded(
                self._guards.idle.name, asked.request_id, why, asked.orders[0].room
            )
            stream.cut()
            raise
        except asyncio.CancelledError:
            why = "the client is gone"
            raise
        finally:
            self._give_up(legs, why)

    async def _answer(
        self, request: web.Request, asked: Asked, legs: list[Leg], stream: EventStream
    ) -> web.StreamResponse:
        for leg in legs:
            key = {"routing_key": leg.order.routing_key}
            self._ledger.enter(leg.order.room, asked.request_id, Stage.INTAKE, key)
        if not await self._failpoints.passing("intake.enter", asked.request_id):
            await asyncio.Event().wait()  # lost: the engine never hears of it
        for leg in legs:
            self._link.submit(leg)
            self._ledger.close(leg.order.room)  # the engine's ledger has it now
        if self._prefill:
            return await self._hand_over(asked, legs)
        if asked.stream:
            return await self._stream(asked, legs, stream)
        return await self._collect(asked, legs)

    async def _hand_over(self, asked: Asked, legs: list[Leg]) -> web.StreamResponse:
        for _ in legs:
            await _next(legs[0].heard)
        await self._let_answer(asked)
        return web.json_response({"id": asked.request_id, "handed_over": len(legs)})

    async def _collect(self, asked: Asked, legs: list[Leg]) -> web.StreamResponse:
        replies = [Reply(leg.index, leg.order) for leg in legs]
        while any(reply.reason is None for reply in replies):
            index, said = await _next(legs[0].heard)
            if isinstance(said, Tokens):
                replies[index].take(said)
        await self._let_answer(asked)
        self._enter(asked, legs, Stage.ENDING)
        return web.json_response(shape_for(asked).whole(replies))

    async def _let_answer(self, asked: Asked) -> None:
        if not await self._failpoints.passing("leg.answer", asked.request_id):
            await asyncio.Event().wait()  # the answer is lost

    async def _stream(
        self, asked: Asked, legs: list[Leg], stream: EventStream
    ) -> web.StreamResponse:
        shape = shape_for(asked)
        replies = [Reply(leg.index, leg.order) for leg in legs]
        while any(reply.reason is None for reply in replies):
            index, said = await _next(legs[0].heard)
            assert isinstance(said, Tokens)
            text = replies[index].take(said)
            if not stream.begun:
                await self._let_answer(asked)
                self._enter(asked, legs, Stage.STREAM)
            if replies[index].reason is not None:
                await self._let_end(asked, legs)
            elif not text:
                continue
            if await self._failpoints.passing("stream.chunk", asked.request_id):
                await stream.send(shape.chunk(replies[index], text))
        usage = shape.usage(replies)
        if usage is not None:
            await stream.send(usage)
        return await stream.done()

    async def _let_end(self, asked: Asked, legs: list[Leg]) -> None:
        self._enter(asked, legs, Stage.ENDING)
        if not await self._failpoints.passing("ending.finish", asked.request_id):
            await asyncio.Event().wait()  # the end is lost

    def _enter(self, asked: Asked, legs: list[Leg], stage: Stage) -> None:
        for leg in legs:
            self._ledger.enter(leg.order.room, asked.request_id, stage)

    async def _fail(self, stream: EventStream, failure: Failure) -> web.StreamResponse:
        """An honest status while that is possible, an honest event afterwards."""
        if not stream.begun:
            return error_reply(failure)
        try:
            await stream.send(failure.body())
        except Unheard:
            stream.cut()
        return await stream.end()

    def _give_up(self, legs: list[Leg], why: str) -> None:
        """Whatever is still open has nobody to answer any more."""
        for leg in legs:
            self._ledger.close(leg.order.room)
            submitted = self._link.legs.get(leg.order.room) is leg
            self._link.forget(leg)
            if submitted and not leg.over and self._guards.abort.on:
                failure = self._guards.abort.failure(why)
                self._ledger.guarded(failure.code, leg.order.request_id, why, leg.order.room)
                self._link.abort(leg.order.room, failure)


async def _next(heard: Heard) -> tuple[int, Said]:
    """Raises Ended when it is bad news."""
    index, said = await heard.get()
    if isinstance(said, Failure):
        raise Ended(said)
    return index, said


def _injected(error: Injected) -> Failure:
    return Failure("failpoint", str(error))


def error_reply(failure: Failure) -> web.Response:
    return web.json_response(failure.body(), status=failure.status)
