"""One client connection and its upstream: two peers, and a flow each way."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from random import Random

from stack.toxiproxy.ends import Peer, Sink, Source
from stack.toxiproxy.flow import Flow
from stack.toxiproxy.metrics_page import ByteCounters
from stack.toxiproxy.toxic_chain import DIRECTIONS, ToxicChain


class Connection:
    """Ends when both of its sockets have been closed, in whatever order the flows do that."""

    def __init__(
        self,
        client: socket.socket,
        upstream: socket.socket,
        chain: ToxicChain,
        counters: ByteCounters,
        rng: Random,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.on_gone: Callable[[Connection], None] = lambda _: None
        self._peers = {"upstream": Peer(loop, client), "downstream": Peer(loop, upstream)}
        for peer in self._peers.values():
            if chain.resets():
                peer.reset_on_close()
        self.flows: dict[str, Flow] = {}
        for direction in DIRECTIONS:
            source, sink = self._peers[direction], self._peers[_opposite(direction)]
            self.flows[direction] = Flow(
                Source(source, counters.adder(direction, "received")),
                Sink(sink, counters.adder(direction, "sent")),
                chain.of(direction),
                rng,
            )
        for peer in self._peers.values():
            peer.on_closed.append(self._one_closed)

    def start(self) -> None:
        for flow in self.flows.values():
            flow.start()

    def close(self) -> None:
        """Now, whatever is still held in the flows."""
        for peer in self._peers.values():
            peer.close()

    def _one_closed(self) -> None:
        if all(peer.closed for peer in self._peers.values()):
            for flow in self.flows.values():
                flow.abandon()
            self.on_gone(self)


def _opposite(direction: str) -> str:
    return "downstream" if direction == "upstream" else "upstream"
