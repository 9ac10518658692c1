"""How much went over a link: bytes into the proxy and out of it, and who is connected.

Open connections are counted by the kernel, ended ones by the server's own metrics (a real
Toxiproxy adds a connection to its metrics only when that connection ends).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stack.bounded_toxiproxy import Toxiproxy
from stack.socket_counters import CountersUnavailable, TcpSocket, inodes_of, tcp_sockets

_SAMPLE = re.compile(
    r"^toxiproxy_proxy_(received|sent)_bytes_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE
)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Route:
    """The ports by which a link's sockets are recognised."""

    proxy: str  # its name on the server
    listen_port: int
    upstream_port: int


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes of one direction, over all connections that ever were."""

    received: int  # from the sender, by the proxy's side of its connection
    sent: int  # on to the far side


@dataclass(frozen=True, slots=True)
class Traffic:
    """One look at a link.

    Upstream sockets of two links to the same upstream port look alike, so the flows are those
    of all links with this link's upstream. The clients are this link's alone.
    """

    clients: frozenset[int]  # the proxy's side of each client connection, by inode
    closing: int  # of these, how many have lost their peer
    ended_bytes: int  # over this link's connections that have ended
    upstream: Flow
    downstream: Flow

    def of(self, stream: str) -> Flow:
        return self.upstream if stream == "upstream" else self.downstream


class TrafficMeter:
    """Reads the traffic of one server's links. `pid` None: a server that we cannot look into."""

    def __init__(self, server: Toxiproxy, pid: int | None) -> None:
        self._server = server
        self._pid = pid
        self._routes: list[Route] = []

    def add(self, route: Route) -> None:
        self._routes.append(route)

    def read(self, route: Route) -> Traffic | None:
        """None where nobody can know: another machine's server, or no sock_diag here."""
        if self._pid is None:
            return None
        try:
            sockets = tcp_sockets()
        except CountersUnavailable:
            return None
        group = [one for one in self._routes if one.upstream_port == route.upstream_port]
        ended = _ended(self._server.metrics() or "")
        return _traffic(route, group, _Ends.of(group, sockets, inodes_of(self._pid)), ended)


@dataclass(frozen=True, slots=True)
class _Ends:
    """The proxy's own sockets: towards the clients, and towards the upstream."""

    clients: tuple[TcpSocket, ...]
    upstreams: tuple[TcpSocket, ...]

    @classmethod
    def of(cls, group: Iterable[Route], sockets: Iterable[TcpSocket], own: frozenset[int]) -> _Ends:
        listening = {route.listen_port for route in group}
        dialled = {route.upstream_port for route in group}
        mine = [one for one in sockets if one.inode in own]
        return cls(
            tuple(one for one in mine if one.local_port in listening),
            tuple(one for one in mine if one.remote_port in dialled),
        )


_Ended = dict[tuple[str, str, str], int]  # (proxy, direction, "received" | "sent") -> bytes


def _ended(page: str) -> _Ended:
    totals: _Ended = {}
    for verb, labels, value in _SAMPLE.findall(page):
        named = dict(_LABEL.findall(labels))
        key = (named.get("proxy", ""), named.get("direction", ""), verb)
        totals[key] = totals.get(key, 0) + int(float(value))
    return totals


def _traffic(route: Route, group: list[Route], ends: _Ends, ended: _Ended) -> Traffic:
    names = {one.proxy for one in group}
    own = [one for one in ends.clients if one.local_port == route.listen_port]

    def before(direction: str, verb: str) -> int:
        return sum(ended.get((name, direction, verb), 0) for name in names)

    return Traffic(
        clients=frozenset(one.inode for one in own),
        closing=sum(not one.established for one in own),
        ended_bytes=sum(value for (name, _, _), value in ended.items() if name == route.proxy),
        upstream=Flow(
            before("upstream", "received") + _received(ends.clients),
            before("upstream", "sent") + sum(one.bytes_sent for one in ends.upstreams),
        ),
        downstream=Flow(
            before("downstream", "received") + _received(ends.upstreams),
            before("downstream", "sent") + sum(one.bytes_sent for one in ends.clients),
        ),
    )


def _received(sockets: Iterable[TcpSocket]) -> int:
    # The server has added a drained one to its metrics already: it stopped reading from it.
    return sum(one.bytes_received for one in sockets if not one.drained)
