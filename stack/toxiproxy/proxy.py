"""One proxy: listens, connects each client to the upstream, can be stopped and started."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from random import Random

from stack.toxiproxy.addresses import Address, BadAddress
from stack.toxiproxy.connection import Connection
from stack.toxiproxy.flow import Flow
from stack.toxiproxy.metrics_page import MetricsPage
from stack.toxiproxy.toxic_chain import ToxicChain

ACCEPT_AT_ONCE = 64  # then the loop serves others first
EMPTY_LISTEN = "127.0.0.1:0"  # the real one listens on every interface; we do not unless told to


class Proxy:
    """`listen` is what the caller wrote until the first start, then the address that was got."""

    def __init__(
        self, name: str, listen: str, upstream: str, page: MetricsPage, rng: Random
    ) -> None:
        self.name = name
        self.listen = listen
        self.upstream = upstream
        self.enabled = False
        self.toxics = ToxicChain(self)
        self._page = page
        self._rng = rng
        self._server: socket.socket | None = None
        self._connections: set[Connection] = set()
        self._dials: set[asyncio.Task[None]] = set()

    def flows(self, direction: str) -> Sequence[Flow]:
        return [one.flows[direction] for one in self._connections]

    def start(self) -> None:
        """No effect on one that is enabled. Raises BadAddress."""
        if self.enabled:
            return
        server = Address.parse(self.listen or EMPTY_LISTEN).listen()
        host, port = server.getsockname()[:2]
        self.listen = str(Address(host, port))
        self.enabled = True
        self._server = server
        asyncio.get_running_loop().add_reader(server, self._accept, server)

    def stop(self) -> None:
        """Close every connection, with whatever its flows hold, and refuse new ones."""
        if not self.enabled:
            return
        self.enabled = False
        if self._server is not None:
            asyncio.get_running_loop().remove_reader(self._server)
            self._server.close()
            self._server = None
        for dial in self._dials:
            dial.cancel()
        for connection in list(self._connections):
            connection.close()

    def update(self, listen: str, upstream: str, *, enabled: bool) -> None:
        if self.differs(listen, upstream):
            self.stop()
            self.listen, self.upstream = listen, upstream
        if enabled:
            self.start()
        else:
            self.stop()

    def differs(self, listen: str, upstream: str) -> bool:
        """Raises BadAddress for a listen address that is none."""
        address = Address.parse(listen).resolve() if listen else None
        return str(address) != self.listen or upstream != self.upstream

    def _accept(self, server: socket.socket) -> None:
        for _ in range(ACCEPT_AT_ONCE):
            try:
                client, _ = server.accept()
            except OSError:  # nobody left, or a client that has gone again
                return
            dial = asyncio.get_running_loop().create_task(self._connect(client))
            self._dials.add(dial)
            dial.add_done_callback(self._dials.discard)

    async def _connect(self, client: socket.socket) -> None:
        try:
            upstream = await Address.parse(self.upstream).connect()
        except (OSError, BadAddress):  # the real one accepts, and closes when it cannot connect
            client.close()
            return
        except asyncio.CancelledError:
            client.close()
            raise
        counters = self._page.counters(self.name, self.listen, self.upstream)
        connection = Connection(client, upstream, self.toxics, counters, self._rng)
        connection.on_gone = self._connections.discard
        self._connections.add(connection)
        connection.start()
