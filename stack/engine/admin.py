"""The admin door: process ids, effective knobs, failpoints. Loopback and a token only."""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from aiohttp import web

from stack.engine.engine_link import EngineLink, NoAnswer
from stack.engine.failpoints import ENGINE_SITES, SITES, Failpoints

Middleware = Any  # aiohttp's own type asks for named parameters, which Callable cannot say
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Admin:
    """Failpoints of the front are armed here, those of the engine over the link.

    An id tells where it lives: "front-1", "engine-1". Every call answers within a second, with
    504 when the engine does not.
    """

    def __init__(self, token: str, engine_pid: int, link: EngineLink, own: Failpoints) -> None:
        self._token = token
        self._engine_pid = engine_pid
        self._link = link
        self._own = own

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._guarded()])
        app.router.add_get("/pids", self._pids)
        app.router.add_get("/knobs", self._knobs)
        app.router.add_get("/guards", self._guards)
        app.router.add_get("/failpoints", self._list)
        app.router.add_post("/failpoints", self._arm)
        app.router.add_get("/failpoints/{id}", self._hits)
        app.router.add_delete("/failpoints/{id}", self._disarm)
        return app

    def _guarded(self) -> Middleware:
        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            given = request.headers.get("Authorization", "")
            if not hmac.compare_digest(given, f"Bearer {self._token}"):
                return _error(401, "expected the admin token as a bearer token")
            try:
                return await handler(request)
            except NoAnswer as error:
                return _error(504, str(error))
            except (ValueError, TypeError, AttributeError) as error:
                return _error(400, str(error))

        return guarded

    async def _pids(self, request: web.Request) -> web.Response:
        return web.json_response({"front": os.getpid(), "engine": self._engine_pid})

    async def _knobs(self, request: web.Request) -> web.Response:
        return web.json_response((await self._link.ask("knobs"))["effective"])

    async def _guards(self, request: web.Request) -> web.Response:
        return web.json_response((await self._link.ask("knobs"))["by_guard"])

    async def _list(self, request: web.Request) -> web.Response:
        theirs: list[dict[str, Any]] = await self._link.ask("armed")
        armed = [
            *(_shown("front", asdict(one)) for one in self._own.armed()),
            *(_shown("engine", one) for one in theirs),
        ]
        return web.json_response({"sites": SITES, "armed": armed})

    async def _arm(self, request: web.Request) -> web.Response:
        raw: dict[str, Any] = await request.json()
        if raw.get("site") not in SITES:
            return _error(400, f"site: expected one of {', '.join(SITES)}, got {raw!r}")
        if raw["site"] in ENGINE_SITES:
            identity = f"engine-{await self._link.ask('arm', failpoint=raw)}"
        else:
            identity = f"front-{self._own.arm(raw)}"
        return web.json_response({"id": identity}, status=201)

    async def _hits(self, request: web.Request) -> web.Response:
        where, number = _parsed(request)
        if where == "engine":
            return _found(await self._link.ask("hits", id=number))
        armed = self._own.get(number)
        return _found(asdict(armed) if armed else None)

    async def _disarm(self, request: web.Request) -> web.Response:
        where, number = _parsed(request)
        if where == "engine":
            return _found(await self._link.ask("disarm", id=number))
        armed = self._own.disarm(number)
        return _found(asdict(armed) if armed else None)


def _parsed(request: web.Request) -> tuple[str, int]:
    where, _, number = request.match_info["id"].partition("-")
    return where, int(number)


def _shown(where: str, armed: dict[str, Any]) -> dict[str, Any]:
    return {**armed, "id": f"{where}-{armed['id']}"}


def _found(armed: dict[str, Any] | None) -> web.Response:
    if armed is None:
        return _error(404, "there is no such failpoint")
    return web.json_response({"hits": armed["hits"], "held": armed["held"]})


def _error(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)
