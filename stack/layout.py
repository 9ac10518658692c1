"""Who listens where: ports and links of one embedded stack, and what each worker is told."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stack.engine.config import WorkerConfig
from stack.ground import Ground
from stack.links import Switchboard
from stack.plan import Plan
from stack.ports import Ports
from stack.routers.backends import Backends

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Layout:
    """`client_port` is where clients connect: the link to the router."""

    client_port: int
    backends: Backends
    workers: Mapping[str, WorkerConfig]

    @property
    def urls(self) -> dict[str, str]:
        """Where each worker answers when asked directly, past every link."""
        return {name: _url(config.port) for name, config in self.workers.items()}


@dataclass(frozen=True, slots=True)
class _Addresses:
    """A worker's own ports: `peer` is its bootstrap port or its KV port."""

    http: int
    peer: int
    admin: int


class Wiring:
    """Makes links, tells the guardian about those on somebody else's server."""

    def __init__(self, ground: Ground, board: Switchboard, ports: Ports) -> None:
        self._ground = ground
        self._board = board
        self._ports = ports

    def link(self, name: str, upstream_port: int) -> int:
        """A link's port, from which everything goes to the upstream port."""
        if self._board.pid is None:  # told before it is made, should we be killed in between
            proxies = [self._board.proxy_name(name)]
            self._ground.guardian.keep_proxies(self._board.api_url, proxies)
        return self._board.link(name, _LOOPBACK, upstream_port, self._ports.lease()).listen_port

    def addresses(self) -> _Addresses:
        return _Addresses(self._ports.lease(), self._ports.lease(), self._ports.lease())


def lay_out(
    plan: Plan, ground: Ground, board: Switchboard, ports: Ports, trace_path: Path
) -> Layout:
    """Lease every port, make every link, and write each worker's configuration."""
    wiring = Wiring(ground, board, ports)
    own = {node: wiring.addresses() for node in plan.topology.workers}
    prefills, decodes = plan.topology.names("prefill"), plan.topology.names("decode")
    router_port, metrics_port = ports.lease(), ports.lease()
    urls = {node: _url(wiring.link(f"router->{node}", own[node].http)) for node in own}
    backends = Backends(
        router_port,
        metrics_port,
        {node: (urls[node], own[node].peer) for node in prefills},
        {node: urls[node] for node in decodes},
    )
    routes = {node: _routes(node, plan, own, wiring) for node in own}
    workers = {
        node: WorkerConfig(
            name=node,
            role=node.partition("-")[0],
            port=own[node].http,
            bootstrap_port=own[node].peer if node in prefills else None,
            kv_port=own[node].peer if node in decodes else None,
            admin_port=own[node].admin,
            admin_token=secrets.token_hex(16),
            trace_path=str(trace_path),
            routes=routes[node],
            environment=plan.node_environment(node),
        )
        for node in own
    }
    return Layout(wiring.link("client->router", router_port), backends, workers)


def _routes(
    node: str, plan: Plan, own: Mapping[str, _Addresses], wiring: Wiring
) -> dict[str, dict[int, int]]:
    """Which link a node takes to each of its peers: {"kv": {the peer's port: the link's}}."""
    if node in plan.topology.names("decode"):
        kind, peers = "bootstrap", plan.topology.names("prefill")
    else:
        kind, peers = "kv", plan.topology.names("decode")
    links = {
        own[peer].peer: wiring.link(f"{node}->{peer}/{kind}", own[peer].peer) for peer in peers
    }
    return {kind: links}


def _url(port: int) -> str:
    return f"http://{_LOOPBACK}:{port}"
