"""Clients that misbehave: they leak bodies, leave, dawdle, half-close, or starve themselves."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol, runtime_checkable

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from chaos.contracts import Clients, Evidence, Node, Proof, Stack
from chaos.event import Json
from chaos.stage import FaultKind, Stage
from faults.httpx_pool import Eaten, HttpxPool
from faults.raw_stream import Ask, HalfClosed, Leaked, RawStream, mute_listener, streamed_body
from faults.streams import COMPLETIONS, opened, read_all

CALL_S: Final = 2.0  # one call to the load generator
POLL_S: Final = 0.01
WITHIN_S: Final = 4.0  # below an experiment's default bound for entering a fault


@runtime_checkable
class Reachable(Protocol):
    """Clients reach it at one URL."""

    @property
    def url(self) -> str: ...

    @property
    def model(self) -> str: ...


@runtime_checkable
class Played(Protocol):
    """Its load generator can be told to misbehave."""

    @property
    def clients(self) -> Clients: ...


@runtime_checkable
class Addressed(Protocol):
    """Its nodes have URLs of their own, past every link."""

    @property
    def nodes(self) -> Sequence[Node]: ...


@runtime_checkable
class Measurable(Protocol):
    """Clients that can say how many bytes of a reply wait in their socket."""

    def unread_bytes(self, request_id: str, timeout_s: float) -> int | None: ...


@dataclass(frozen=True, slots=True)
class LeakedBodies:
    """Open `count` streams through the router, read `at_byte` bytes of each body, then no more."""

    count: int
    at_byte: int
    tokens: int = 400
    within_s: float = WITHIN_S
    stage: Stage = field(default=Stage.CLIENT, init=False)
    kind: FaultKind = field(default=FaultKind.EXHAUSTED, init=False)
    needs: type = field(default=Reachable, init=False)

    def __post_init__(self) -> None:
        if self.count < 1 or self.at_byte < 0:
            raise ValueError(
                f"count is at least 1 and at_byte not negative, not {self.count}, {self.at_byte}"
            )

    @property
    def name(self) -> str:
        return f"{self.count} bodies leaked at byte {self.at_byte}"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        with opened(stack, rng, "leak", self.count, self.tokens, self.within_s) as streams:
            read_all(streams, self.at_byte, self.within_s)
            yield Leaked(streams)


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection of `request_id` as soon as it is open. Nothing brings it back."""

    request_id: str
    within_s: float = WITHIN_S
    stage: Stage = field(default=Stage.CLIENT, init=False)
    kind: FaultKind = field(default=FaultKind.CANCELLED, init=False)
    needs: type = field(default=Played, init=False)

    @property
    def name(self) -> str:
        return f"the client of {self.request_id} disconnects"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        clients = stack.clients
        was_open = _soon(lambda: clients.disconnect(self.request_id, CALL_S), self.within_s)
        yield _Gone(clients, self.request_id, was_open)


@dataclass(frozen=True, slots=True)
class _Gone:
    clients: Clients
    request_id: str
    was_open: bool

    def read(self) -> Evidence:
        # Hanging up again is harmless, and says whether there is still something to hang up.
        closed = not self.clients.disconnect(self.request_id, CALL_S)
        detail = {"request": self.request_id, "was_open": self.was_open, "closed": closed}
        return Evidence(self.was_open and closed, detail)


@dataclass(frozen=True, slots=True)
class SlowReader:
    """Stop reading the reply to `request_id` as soon as it has begun; healed, it reads on."""

    request_id: str
    within_s: float = WITHIN_S
    stage: Stage = field(default=Stage.STREAM, init=False)
    kind: FaultKind = field(default=FaultKind.LATE, init=False)
    needs: type = field(default=Played, init=False)

    @property
    def name(self) -> str:
        return f"the client of {self.request_id} stops reading"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        clients = stack.clients
        paused = _soon(lambda: clients.pause_reading(self.request_id, CALL_S), self.within_s)
        try:
            yield _Paused(clients, self.request_id, paused)
        finally:
            clients.resume_reading(self.request_id, CALL_S)


@dataclass(frozen=True, slots=True)
class _Paused:
    clients: Clients
    request_id: str
    paused: bool

    def read(self) -> Evidence:
        """It bit when bytes wait for us: that we stopped reading says nothing of the stack."""
        detail: dict[str, Json] = {"request": self.request_id, "paused": self.paused}
        bit = self.paused
        if isinstance(self.clients, Measurable):
            waiting = self.clients.unread_bytes(self.request_id, CALL_S)
            detail["unread_bytes"] = waiting
            bit = bit and bool(waiting)
        return Evidence(bit, detail)


@dataclass(frozen=True, slots=True)
class HalfClose:
    """Send `node` a whole request, past every link, and then a FIN: "I shall send no more".

    HTTP allows that and expects a reply; most servers take it for a disconnect. Toxiproxy
    closes both directions, so it cannot be done through a link. The FIN follows when the reply
    begins, at the latest after `under_way_s`: a server that reads both at once would drop the
    request unseen. A worker is given a room in which nobody will meet it.
    """

    node: str
    tokens: int = 400
    under_way_s: float = 0.2
    within_s: float = 2.0  # to connect, and again for the FIN to arrive
    stage: Stage = field(default=Stage.CLIENT, init=False)
    kind: FaultKind = field(default=FaultKind.CANCELLED, init=False)
    needs: type = field(default=Addressed, init=False)

    @property
    def name(self) -> str:
        return f"a client of {self.node} half-closes"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        node = _node(stack, self.node)
        body = streamed_body(rng, self.tokens, stack.model)
        with mute_listener() as mute:
            if node.role != "router":  # a worker is only asked with a room in which to meet
                body |= {
                    "bootstrap_host": "127.0.0.1",
                    "bootstrap_port": mute.getsockname()[1],
                    "bootstrap_room": rng.getrandbits(62),
                }
            yield from self._half_close(Ask(node.url, COMPLETIONS, body, "half-close"))

    def _half_close(self, ask: Ask) -> Generator[Proof]:
        with closing(RawStream(ask, self.within_s)) as stream:
            stream.read_to(1, self.under_way_s)
            sent = stream.half_close()
            _soon(stream.half_closed, self.within_s)
            yield HalfClosed(stream, sent)


@dataclass(frozen=True, slots=True)
class EatenPool:
    """One httpx client with `pool` connections leaves as many bodies undrained.

    Its own next request then finds no connection and raises httpx.PoolTimeout, while the stack
    is well and every other client goes on. Whoever blames the stack is wrong.
    """

    pool: int = 2
    tokens: int = 400
    stage: Stage = field(default=Stage.CLIENT, init=False)
    kind: FaultKind = field(default=FaultKind.EXHAUSTED, init=False)
    needs: type = field(default=Reachable, init=False)

    def __post_init__(self) -> None:
        if self.pool < 1:
            raise ValueError(f"a pool has at least one connection, not {self.pool}")

    @property
    def name(self) -> str:
        return f"a client's pool of {self.pool} eaten by undrained bodies"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        with closing(HttpxPool(stack.url, self.pool)) as pool:
            for index in range(self.pool):
                pool.leave_body(
                    COMPLETIONS, streamed_body(rng, self.tokens, stack.model), f"undrained-{index}"
                )
            yield Eaten(pool)


def _soon(done: Callable[[], bool], within_s: float) -> bool:
    """Whether it came true within the bound."""
    asking = Retrying(
        retry=retry_if_result(lambda true: not true),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(POLL_S),
    )
    try:
        return asking(done)
    except RetryError:
        return False


def _node(stack: Addressed, name: str) -> Node:
    for node in stack.nodes:
        if node.name == name:
            return node
    names = ", ".join(node.name for node in stack.nodes)
    raise ValueError(f"no node is called {name!r}; this stack has {names}")
