"""The HTTP API: routes, and values as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, cast

from aiohttp import web

from stack.toxiproxy.api_error import ApiError
from stack.toxiproxy.go_json import Fields, first_value, objects
from stack.toxiproxy.pipe import ToxicEntry
from stack.toxiproxy.proxies import Proxies
from stack.toxiproxy.proxy import Proxy

VERSION = "2.12.0-embedded"
PROXY = "/proxies/{proxy:[^/]+}"
TOXIC = PROXY + "/toxics/{toxic:[^/]+}"
Call = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpApi:
    """What each route does. Errors travel as ApiError and become answers in one place."""

    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies

    def application(self) -> web.Application:
        application = web.Application(middlewares=[_no_browsers, _errors_as_json])
        application.add_routes(
            [
                web.get("/version", self.version, allow_head=False),
                web.get("/metrics", self.metrics),
                web.post("/reset", self.reset),
                web.post("/populate", self.populate),
                web.get("/proxies", self.index, allow_head=False),
                web.post("/proxies", self.create),
                web.get(PROXY, self.show, allow_head=False),
                web.post(PROXY, self.update),
                web.patch(PROXY, self.update),
                web.delete(PROXY, self.delete),
                web.get(PROXY + "/toxics", self.toxic_index, allow_head=False),
                web.post(PROXY + "/toxics", self.toxic_create),
                web.get(TOXIC, self.toxic_show, allow_head=False),
                web.post(TOXIC, self.toxic_update),
                web.patch(TOXIC, self.toxic_update),
                web.delete(TOXIC, self.toxic_delete),
            ]
        )
        return application

    async def version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": VERSION})

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(text=self._proxies.page.text())

    async def reset(self, request: web.Request) -> web.Response:
        self._proxies.reset()
        return web.Response(status=204)

    async def populate(self, request: web.Request) -> web.Response:
        """Creates what it can; the error and what was created before it are in one answer."""
        done: list[dict[str, object]] | None = None
        try:
            wanted = self._proxies.checked(objects(first_value(await request.read())))
            for proxy, enabled in wanted:
                kept = self._proxies.add_or_replace(proxy, enabled=enabled)
                done = [*(done or []), _proxy(kept)]
        except ApiError as error:
            return web.json_response({**error.body, "proxies": done}, status=error.status)
        return web.json_response({"proxies": done}, status=201)

    async def index(self, request: web.Request) -> web.Response:
        return web.json_response({proxy.name: _proxy(proxy) for proxy in self._proxies})

    async def create(self, request: web.Request) -> web.Response:
        return web.json_response(_proxy(self._proxies.create(await _body(request))), status=201)

    async def show(self, request: web.Request) -> web.Response:
        return web.json_response(_proxy(self._proxies.get(_name(request))))

    async def update(self, request: web.Request) -> web.Response:
        self._proxies.get(_name(request))  # 404 comes before a bad body
        proxy = self._proxies.update(_name(request), await _body(request))
        return web.json_response(_proxy(proxy))

    async def delete(self, request: web.Request) -> web.Response:
        self._proxies.remove(_name(request))
        return web.Response(status=204)

    async def toxic_index(self, request: web.Request) -> web.Response:
        return web.json_response(_toxics(self._proxies.get(_name(request))))

    async def toxic_create(self, request: web.Request) -> web.Response:
        self._proxies.get(_name(request))
        entry = self._proxies.add_toxic(_name(request), await _body(request))
        return web.json_response(_toxic(entry))

    async def toxic_show(self, request: web.Request) -> web.Response:
        return web.json_response(_toxic(self._proxies.toxic(_name(request), _toxic_name(request))))

    async def toxic_update(self, request: web.Request) -> web.Response:
        name, toxic = _name(request), _toxic_name(request)
        self._proxies.toxic(name, toxic)
        return web.json_response(
            _toxic(self._proxies.update_toxic(name, toxic, await _body(request)))
        )

    async def toxic_delete(self, request: web.Request) -> web.Response:
        self._proxies.remove_toxic(_name(request), _toxic_name(request))
        return web.Response(status=204)


@web.middleware
async def _errors_as_json(request: web.Request, handler: Call) -> web.StreamResponse:
    try:
        return await handler(request)
    except ApiError as error:
        return web.json_response(error.body, status=error.status)


@web.middleware
async def _no_browsers(request: web.Request, handler: Call) -> web.StreamResponse:
    """A page in somebody's browser must not be able to drive the server."""
    if request.headers.get("User-Agent", "").startswith("Mozilla/"):
        return web.Response(status=403, text="User agent not allowed\n")
    return await handler(request)


async def _body(request: web.Request) -> Fields:
    return Fields.of(first_value(await request.read()))


def _name(request: web.Request) -> str:
    return request.match_info["proxy"]


def _toxic_name(request: web.Request) -> str:
    return request.match_info["toxic"]


def _proxy(proxy: Proxy) -> dict[str, object]:
    return {
        "name": proxy.name,
        "listen": proxy.listen,
        "upstream": proxy.upstream,
        "enabled": proxy.enabled,
        "toxics": _toxics(proxy),
    }


def _toxics(proxy: Proxy) -> list[dict[str, object]]:
    return [_toxic(entry) for entry in proxy.toxics]


def _toxic(entry: ToxicEntry) -> dict[str, object]:
    return {
        "attributes": asdict(cast("Any", entry.toxic)),  # a Protocol cannot say "is a dataclass"
        "name": entry.name,
        "type": entry.type,
        "stream": entry.stream,
        "toxicity": entry.toxicity,
    }
