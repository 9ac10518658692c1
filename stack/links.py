"""The switchboard: one Toxiproxy server and the named links that go through it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import Literal, Self

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from stack.bounded_toxiproxy import Toxiproxy, ToxiproxyAddress, ToxiproxySilent
from stack.link_traffic import Route, TrafficMeter
from stack.ports import Ports
from stack.proxied_link import ProxiedLink
from stack.socket_counters import owner_of
from stack.switch_process import (
    SwitchProcess,
    embedded_command,
    environment,
    real_command,
    require_free,
)

READY_S = 10.0  # 0.1 s for the real server, 0.5 s for the embedded one, on two busy cores
READY_POLL_S = 0.02
LOOPBACK = "127.0.0.1"
Server = Literal["real", "embedded", "external"]


class Switchboard:
    """Starts a server on entry, or attaches to one, and makes links.

    `server` None: the one at TOXIPROXY_URL if that is set, else a real `toxiproxy-server` from
    PATH, else the embedded one. A server that we started dies with us; from one that we attached
    to, our own proxies are removed at the end, and nothing else is touched.

    Raises SwitchDied if the server does not come up, ToxiproxySilent if it does not answer within
    READY_S, ValueError for a TOXIPROXY_URL that is none.
    """

    def __init__(self, api_port: int | None = None, server: Server | None = None) -> None:
        self._api_port = api_port
        self._server: Server = server or _preferred()
        self._links: dict[str, ProxiedLink] = {}
        self._process: SwitchProcess | None = None
        self._client: Toxiproxy | None = None
        self._meter: TrafficMeter | None = None
        self._looked_into: int | None = None  # the server's pid, where /proc shows its sockets
        self._kind = "not started"
        self._ports = Ports()

    def __enter__(self) -> Self:
        try:
            external = self._server == "external"
            self._looked_into = self._attach() if external else self._start()
            self._meter = TrafficMeter(self._api, self._looked_into)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def api_url(self) -> str:
        return self._api.address.url

    @property
    def kind(self) -> str:
        """ "toxiproxy v2.12.0", "embedded" or "external"."""
        return self._kind

    @property
    def pid(self) -> int | None:
        """The server that we started, if we did."""
        return self._process.pid if self._process else None

    @property
    def links(self) -> Mapping[str, ProxiedLink]:
        return MappingProxyType(self._links)

    def link(
        self, name: str, upstream_host: str, upstream_port: int, listen_port: int
    ) -> ProxiedLink:
        """A new link, listening on loopback; listen port 0 lets the kernel choose."""
        if name in self._links:
            raise ValueError(f"expected a new link name, {name!r} exists: {sorted(self._links)}")
        assert self._meter is not None
        proxy = self._api.create(
            self.proxy_name(name), f"{upstream_host}:{upstream_port}", f"{LOOPBACK}:{listen_port}"
        )
        route = Route(proxy.name, int(proxy.listen.rpartition(":")[2]), upstream_port)
        self._meter.add(route)
        self._links[name] = ProxiedLink(name, self._api, proxy, route, self._meter)
        return self._links[name]

    def clear(self) -> None:
        """Take all links off, so that the next stack can use their names."""
        for link in self._links.values():
            link.destroy()
        self._links.clear()
        self._meter = TrafficMeter(self._api, self._looked_into)

    def close(self) -> None:
        """Idempotent. Ends our server, or takes our links off somebody else's."""
        if self._process is not None:
            self._process.stop()
            self._process = None
        elif self._client is not None:
            for link in self._links.values():
                link.destroy()
        self._links.clear()
        if self._client is not None:
            self._client.close()
            self._client = None
        self._ports.release()

    @property
    def _api(self) -> Toxiproxy:
        if self._client is None:
            raise ToxiproxySilent("the switchboard is not open: use it as a context manager")
        return self._client

    def _attach(self) -> int | None:
        address = ToxiproxyAddress.parse(os.environ["TOXIPROXY_URL"])
        self._client = Toxiproxy(address)
        self._client.version()
        self._kind = "external"
        return owner_of(address.port) if _is_loopback(address.host) else None

    def _start(self) -> int:
        port = self._api_port or self._ports.lease()
        require_free(LOOPBACK, port)
        found = real_command(LOOPBACK, port) if self._server == "real" else None
        if self._server == "real" and found is None:
            raise FileNotFoundError("expected toxiproxy-server on PATH: it is not there")
        self._kind, command = found or embedded_command(LOOPBACK, port)
        self._process = SwitchProcess(command, environment())
        self._client = Toxiproxy(ToxiproxyAddress(LOOPBACK, port))
        self._wait_until_ready()
        return self._process.pid

    def _wait_until_ready(self) -> None:
        for attempt in Retrying(
            stop=stop_after_delay(READY_S),
            wait=wait_fixed(READY_POLL_S),
            retry=retry_if_exception_type(ToxiproxySilent),
            reraise=True,
        ):
            with attempt:
                assert self._process is not None
                self._process.require_alive()
                self._api.version()

    def proxy_name(self, name: str) -> str:
        """What a link's proxy is called on the server, known before it is made.

        Neither "/" nor ">" can stand in a proxy's URL; others' proxies keep their names.
        """
        plain = name.replace("->", "-to-").replace("/", ".")
        return f"pdchaos-{os.getpid()}-{plain}" if self._server == "external" else plain


def _preferred() -> Server:
    if os.environ.get("TOXIPROXY_URL"):
        return "external"
    return "real" if real_command(LOOPBACK, 0) else "embedded"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
