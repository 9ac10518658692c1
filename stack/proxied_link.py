"""One named link: a Toxiproxy proxy that can be bent and cut, and is put right again."""

from __future__ import annotations

import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count

from chaos.contracts import Proof
from chaos.event import Json
from stack.bounded_toxiproxy import (
    ProxySeen,
    ToxicSeen,
    Toxiproxy,
    ToxiproxyRefused,
    ToxiproxySilent,
)
from stack.link_traffic import Route, Traffic, TrafficMeter
from stack.passage_watch import PassageWatch
from stack.toxic_proof import CutProof, ToxicProof, only_delays

STREAMS = ("upstream", "downstream")
CONNECT_S = 1.0  # loopback answers or refuses at once


class LinkNotBent(Exception):
    """The server took the toxic but does not have it as asked for: it would be a no-op."""


class LinkNotHealed(Exception):
    """The server still has what was to be taken off."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A toxic as it was asked for."""

    name: str
    type: str
    attributes: Mapping[str, Json]
    stream: str

    def differences(self, seen: ToxicSeen) -> dict[str, Json]:
        """What was asked for and is not so; empty when the server has it all."""
        wrong: dict[str, Json] = {
            name: value
            for name, value in self.attributes.items()
            if name not in seen.attributes or seen.attributes[name] != value
        }
        if seen.type != self.type:
            wrong["type"] = self.type
        if seen.stream != self.stream:
            wrong["stream"] = self.stream
        if seen.toxicity != 1.0:
            wrong["toxicity"] = 1.0
        return wrong


class ProxiedLink:
    """A chaos.contracts.Link. Calls are bounded; errors are those of stack.bounded_toxiproxy."""

    def __init__(
        self, name: str, server: Toxiproxy, proxy: ProxySeen, route: Route, meter: TrafficMeter
    ) -> None:
        self._name = name
        self._server = server
        self._proxy = proxy
        self._route = route
        self._meter = meter
        self._serial = count(1)

    @property
    def name(self) -> str:
        return self._name

    @property
    def listen_port(self) -> int:
        return self._route.listen_port

    @property
    def upstream_port(self) -> int:
        return self._route.upstream_port

    @property
    def proxy_url(self) -> str:
        """A DELETE of this URL removes the link from its server."""
        return f"{self._server.address.url}/proxies/{self._proxy.name}"

    @property
    def proxy_name(self) -> str:
        """Its name on the server: whoever must clean up after us deletes it there."""
        return self._proxy.name

    def traffic(self) -> Traffic | None:
        return self._meter.read(self._route)

    @contextmanager
    def bend(
        self, toxic: str, attributes: Mapping[str, Json], stream: str
    ) -> Generator[Proof, None, None]:
        """Put one toxic on while inside.

        `toxic` and `attributes` are Toxiproxy's; the stream is "upstream" | "downstream".
        Raises ValueError for another stream; LinkNotBent when the server's toxic differs from
        what was asked for (Toxiproxy accepts a misspelt attribute); LinkNotHealed when it cannot
        be taken off again.
        """
        if stream not in STREAMS:
            raise ValueError(f"stream: expected one of {', '.join(STREAMS)}, not {stream!r}")
        name = f"{toxic}_{stream}_{next(self._serial)}"
        asked = _Asked(name, toxic, dict(attributes), stream)
        # A toxic may act before we can look again: the look before it came on is the one to
        # compare with. What only delays had no effect on what had passed by then.
        watch = PassageWatch(self.traffic, stream)
        try:
            self._server.add_toxic(self._proxy, asdict(asked))
            _compare(asked, self._toxics().get(name))
            if only_delays(toxic, attributes):
                watch.begin_again()
            with watch:
                if toxic == "bandwidth":
                    watch.keep_looking()
                yield ToxicProof(toxic, attributes, stream, lambda: self._has(asked), watch.read)
        finally:
            self._take_off(name)

    @contextmanager
    def cut(self) -> Generator[Proof, None, None]:
        """Close every connection and refuse new ones while inside."""
        before = self.traffic()
        try:
            self._server.disable(self._proxy)
            yield CutProof(lambda: not self._enabled(), self._refuses, self.traffic, before)
        finally:
            self._enable()

    def destroy(self) -> None:
        """Take the link off its server; one that is gone already is fine."""
        with suppress(ToxiproxyRefused):
            self._server.destroy(self._proxy)

    def _toxics(self) -> Mapping[str, ToxicSeen]:
        return self._server.toxics(self._proxy)

    def _has(self, asked: _Asked) -> bool:
        seen = self._toxics().get(asked.name)
        return seen is not None and not asked.differences(seen)

    def _take_off(self, name: str) -> None:
        try:
            with suppress(ToxiproxyRefused):  # it may never have come on; the look below decides
                self._server.destroy_toxic(self._proxy, name)
        except ToxiproxySilent:
            self._rebuild()
        try:
            left = name in self._toxics()
        except ToxiproxyRefused as error:
            raise LinkNotHealed(f"link {self._name}: its proxy has gone: {error}") from error
        if left:
            raise LinkNotHealed(f"link {self._name}: toxic {name} is still on after its removal")

    def _enable(self) -> None:
        try:
            self._server.enable(self._proxy)
        except ToxiproxyRefused as error:
            raise LinkNotHealed(f"link {self._name}: cannot be enabled: {error}") from error
        if not self._enabled():
            raise LinkNotHealed(f"link {self._name}: still disabled after it was enabled")

    def _rebuild(self) -> None:
        """The way out when the real server is stuck: this closes the link's connections.

        Its chain of toxics cannot be changed while a chunk is on its way to a reader who does
        not read, or to a stall behind another toxic; all that asks for the chain then waits.
        Removing the proxy does not ask for it. Whatever else was bent here is lost, and says so:
        it is not read back any more.
        """
        old = self._proxy
        self._server.destroy(old)
        self._proxy = self._server.create(old.name, old.upstream, old.listen)

    def _enabled(self) -> bool:
        seen = self._server.seen(self._proxy.name)
        return seen is not None and seen.enabled

    def _refuses(self) -> bool:
        host = self._server.address.host
        try:
            socket.create_connection((host, self.listen_port), CONNECT_S).close()
        except OSError:
            return True
        return False


def _compare(asked: _Asked, seen: ToxicSeen | None) -> None:
    if seen is None:
        raise LinkNotBent(f"expected toxic {asked.name} on the server, it is not there")
    if differences := asked.differences(seen):
        raise LinkNotBent(
            f"toxic {asked.type}: asked for {differences}, the server has "
            f"{dict(seen.attributes)} on {seen.stream} at toxicity {seen.toxicity:g}; "
            "a misspelt attribute is accepted by Toxiproxy and means nothing"
        )
