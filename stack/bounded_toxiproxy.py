"""The toxiproxy-python client with a bound on every call and a clear error for every answer.

The client as published keeps one server's address in class attributes, calls `requests` without
a time-out, and takes an HTTP 500 for an answer. Here the address and the session travel in a
context variable, so that several servers can be driven from one process, and from threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, TypeVar, cast
from urllib.parse import urlsplit

import requests
import toxiproxy.api  # pyright: ignore[reportMissingTypeStubs] - the client has no types
from requests.adapters import HTTPAdapter

from chaos.event import Json

# Removing a toxic from 2,000 open connections takes 0.11 s. Two calls fit into an undo's bound.
CALL_S = 2.0
CLIENT_ERROR = 400
Answer = TypeVar("Answer")


class ToxiproxyRefused(Exception):
    """Toxiproxy answered with an error: the message has its status and its own words."""


class ToxiproxySilent(Exception):
    """Toxiproxy did not answer within the bound, or could not be reached."""


class _BoundedAdapter(HTTPAdapter):
    """Puts the bound on each call; nothing can wait longer by forgetting it."""

    def send(
        self, request: requests.PreparedRequest, *_: object, **__: object
    ) -> requests.Response:
        return super().send(request, timeout=CALL_S)


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # a proxy of the environment must not stand between us and loopback
    session.mount("http://", _BoundedAdapter())
    return session


@dataclass(frozen=True, slots=True)
class ToxiproxyAddress:
    """Where one server answers, and the session that keeps connections to it."""

    host: str
    port: int
    session: requests.Session = field(default_factory=_session, compare=False, repr=False)

    @classmethod
    def parse(cls, url: str) -> ToxiproxyAddress:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname or not parts.port:
            raise ValueError(
                f"expected a Toxiproxy address like http://127.0.0.1:8474, got {url!r}"
            )
        return cls(parts.hostname, parts.port)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


_spoken_to: ContextVar[ToxiproxyAddress | None] = ContextVar("toxiproxy_spoken_to", default=None)


class BoundedConsumer(toxiproxy.api.APIConsumer):
    """What the client's classes call instead of their own consumer.

    Outside `Toxiproxy` below (somebody else's use of the client in this process) it speaks to
    the class attributes' address as before, and is bounded too.
    """

    @classmethod
    def get(cls, url: str, params: object = None, **kwargs: object) -> requests.Response:
        return cls._call("GET", url, params=params, **kwargs)

    @classmethod
    def delete(cls, url: str, **kwargs: object) -> requests.Response:
        return cls._call("DELETE", url, **kwargs)

    @classmethod
    def post(
        cls, url: str, data: object = None, json: object = None, **kwargs: object
    ) -> requests.Response:
        return cls._call("POST", url, data=data, json=json, **kwargs)

    @classmethod
    def _call(cls, method: str, path: str, **kwargs: object) -> requests.Response:
        address = _spoken_to.get() or ToxiproxyAddress(cls.host, cls.port)
        request = cast("Callable[..., requests.Response]", address.session.request)
        try:
            response = request(method, address.url + path, **kwargs)
        except requests.RequestException as error:
            raise ToxiproxySilent(
                f"{method} {address.url}{path}: no answer in {CALL_S:g} s: {error}"
            ) from error
        if response.status_code >= CLIENT_ERROR:
            raise ToxiproxyRefused(
                f"{method} {address.url}{path}: expected 2xx, got {response.status_code}: "
                f"{response.text.strip()}"
            )
        return response


# The client's modules look the consumer up by this name at each call.
for _module in ("toxiproxy.proxy", "toxiproxy.server"):
    setattr(import_module(_module), "APIConsumer", BoundedConsumer)  # noqa: B010 - untyped module


class _ClientToxic(Protocol):
    type: str
    stream: str
    name: str
    toxicity: float
    attributes: Mapping[str, Json]


class _ClientProxy(Protocol):
    name: str
    listen: str
    upstream: str
    enabled: bool

    def toxics(self) -> Mapping[str, _ClientToxic]: ...
    def add_toxic(self, **kwargs: object) -> None: ...
    def destroy_toxic(self, toxic_name: str) -> bool: ...
    def destroy(self) -> bool: ...
    def disable(self) -> None: ...
    def enable(self) -> None: ...


class _ClientServer(Protocol):
    def proxies(self) -> Mapping[str, _ClientProxy]: ...
    def create(self, upstream: str, name: str, listen: str) -> _ClientProxy: ...
    def get_proxy(self, proxy_name: str) -> _ClientProxy | None: ...
    def reset(self) -> bool: ...


ToxicSeen = _ClientToxic
ProxySeen = _ClientProxy


class Toxiproxy:
    """One Toxiproxy server, through the published client; every call ends within CALL_S.

    Raises ToxiproxyRefused for any answer that is not 2xx, ToxiproxySilent for no answer.
    """

    def __init__(self, address: ToxiproxyAddress) -> None:
        self.address = address
        client = cast("Callable[[], _ClientServer]", import_module("toxiproxy").Toxiproxy)
        self._client = client()

    def version(self) -> str:
        answer = self._said(lambda: BoundedConsumer.get("/version").json())
        return str(cast("Mapping[str, object]", answer)["version"])

    def metrics(self) -> str | None:
        """The Prometheus page, or None where the server runs without one."""
        try:
            return self._said(lambda: BoundedConsumer.get("/metrics").text)
        except ToxiproxyRefused:
            return None

    def create(self, name: str, upstream: str, listen: str) -> ProxySeen:
        return self._said(lambda: self._client.create(upstream, name, listen))

    def seen(self, name: str) -> ProxySeen | None:
        return self._said(lambda: self._client.get_proxy(name))

    def toxics(self, proxy: ProxySeen) -> Mapping[str, ToxicSeen]:
        return self._said(proxy.toxics)

    def add_toxic(self, proxy: ProxySeen, toxic: Mapping[str, object]) -> None:
        self._said(lambda: proxy.add_toxic(**toxic))

    def destroy_toxic(self, proxy: ProxySeen, name: str) -> None:
        self._said(lambda: proxy.destroy_toxic(name))

    def disable(self, proxy: ProxySeen) -> None:
        self._said(proxy.disable)

    def enable(self, proxy: ProxySeen) -> None:
        self._said(proxy.enable)

    def destroy(self, proxy: ProxySeen) -> None:
        self._said(proxy.destroy)

    def close(self) -> None:
        self.address.session.close()

    def _said(self, call: Callable[[], Answer]) -> Answer:
        token = _spoken_to.set(self.address)
        try:
            return call()
        finally:
            _spoken_to.reset(token)
