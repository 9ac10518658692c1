"""All proxies of the server by name, and what the API may do with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from random import Random
from typing import Any, TypeVar, cast

from stack.toxiproxy import api_error
from stack.toxiproxy.addresses import BadAddress
from stack.toxiproxy.api_error import ApiError
from stack.toxiproxy.go_json import Fields
from stack.toxiproxy.metrics_page import MetricsPage
from stack.toxiproxy.pipe import Toxic, ToxicEntry
from stack.toxiproxy.proxy import Proxy
from stack.toxiproxy.toxic_chain import DIRECTIONS
from stack.toxiproxy.toxics import TOXICS

Done = TypeVar("Done")


class Proxies:
    """Every method raises ApiError for what cannot be done."""

    def __init__(self, rng: Random) -> None:
        self.page = MetricsPage()
        self._rng = rng
        self._proxies: dict[str, Proxy] = {}

    def __iter__(self) -> Iterator[Proxy]:
        return iter(self._proxies.values())

    def get(self, name: str) -> Proxy:
        if name not in self._proxies:
            raise api_error.proxy_not_found()
        return self._proxies[name]

    def create(self, asked: Fields) -> Proxy:
        proxy = self._proxy(asked, "")
        enabled = asked.flag("enabled", default=True)
        if proxy.name in self._proxies:
            raise api_error.proxy_exists()
        return self._keep(proxy, enabled=enabled)

    def add_or_replace(self, proxy: Proxy, *, enabled: bool) -> Proxy:
        """One that is there already with the same addresses is left alone."""
        existing = self._proxies.get(proxy.name)
        if existing is not None:
            if not _checked(lambda: existing.differs(proxy.listen, proxy.upstream)):
                return existing
            existing.stop()
        return self._keep(proxy, enabled=enabled)

    def checked(self, asked: list[Fields]) -> list[tuple[Proxy, bool]]:
        """What a populate asks for, checked as a whole before any of it is done."""
        return [
            (self._proxy(one, f" at proxy {number}"), one.flag("enabled", default=True))
            for number, one in enumerate(asked, start=1)
        ]

    def update(self, name: str, asked: Fields) -> Proxy:
        proxy = self.get(name)
        listen = asked.text("listen", proxy.listen)
        upstream = asked.text("upstream", proxy.upstream)
        enabled = asked.flag("enabled", default=proxy.enabled)
        _checked(lambda: proxy.update(listen, upstream, enabled=enabled))
        return proxy

    def remove(self, name: str) -> None:
        self.get(name).stop()
        del self._proxies[name]

    def reset(self) -> None:
        """Everything enabled, no toxics."""
        for proxy in self:
            _checked(proxy.start)
            proxy.toxics.clear()

    def close(self) -> None:
        for proxy in self:
            proxy.stop()

    def toxic(self, name: str, toxic: str) -> ToxicEntry:
        entry = self.get(name).toxics.find(toxic)
        if entry is None:
            raise api_error.toxic_not_found()
        return entry

    def add_toxic(self, name: str, asked: Fields) -> ToxicEntry:
        chain = self.get(name).toxics
        kind, stream = asked.text("type", ""), asked.text("stream", "downstream")
        called = asked.text("name", "") or f"{kind}_{stream}"
        toxicity, attributes = asked.real("toxicity", 1.0), asked.object("attributes")
        if stream.lower() not in DIRECTIONS:
            raise api_error.invalid_stream()
        if kind not in TOXICS:
            raise api_error.invalid_toxic_type()
        if chain.find(called) is not None:
            raise api_error.toxic_exists()
        entry = ToxicEntry(called, kind, stream, toxicity, _set(TOXICS[kind](), attributes))
        chain.add(entry)
        return entry

    def update_toxic(self, name: str, toxic: str, asked: Fields) -> ToxicEntry:
        entry = self.toxic(name, toxic)
        changed = _set(entry.toxic, asked.object("attributes"))
        self.get(name).toxics.update(entry, changed, asked.real("toxicity", entry.toxicity))
        return entry

    def remove_toxic(self, name: str, toxic: str) -> None:
        self.get(name).toxics.remove(self.toxic(name, toxic))

    def _proxy(self, asked: Fields, where: str) -> Proxy:
        name, upstream = asked.text("name", ""), asked.text("upstream", "")
        listen = asked.text("listen", "")
        for field, value in (("name", name), ("upstream", upstream)):
            if not value:
                raise api_error.missing_field(f"{field}{where}")
        return Proxy(name, listen, upstream, self.page, self._rng)

    def _keep(self, proxy: Proxy, *, enabled: bool) -> Proxy:
        if enabled:
            _checked(proxy.start)
        self._proxies[proxy.name] = proxy
        return proxy


def _set(toxic: Toxic, attributes: Fields) -> Toxic:
    """The toxic with these settings changed. All settings of all toxics are integers."""
    instance = cast("Any", toxic)  # a Protocol cannot say "is a dataclass"
    changes = {
        one.name: attributes.integer(one.name, getattr(toxic, one.name)) for one in fields(instance)
    }
    return cast("Toxic", replace(instance, **changes))


def _checked(deed: Callable[[], Done]) -> Done:
    try:
        return deed()
    except BadAddress as error:
        raise ApiError(500, str(error)) from error
