"""The shapes this tool is built from. Definitions only: no behaviour, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, runtime_checkable

from chaos.event import Json, Mark
from chaos.failpoint import Failpoint
from chaos.history import History
from chaos.stage import FaultKind, Stage
from chaos.verdict import Finding

Listener = Callable[[Mark], None]


@dataclass(frozen=True, slots=True)
class Request:
    """One thing a client asks for. An agent is a chain of requests linked by `after`."""

    request_id: str
    due_s: float  # offset from the start of load, or the tool pause after `after` ended
    prompt: str  # with `after`: appended to that round's prompt and reply
    tokens_max: int
    after: str | None = None  # the round before; its transcript is this prompt's beginning
    routing_key: str | None = None
    stream: bool = True
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()  # the reply ends before the first of these texts
    tries_max: int = 1  # an agent sends a failed round again, as "<request_id>+1", "+2", ...


class Workload(Protocol):
    """What the clients will ask for. Pure: one seed, one sequence of requests."""

    @property
    def name(self) -> str: ...

    def requests(self, rng: Random) -> Sequence[Request]: ...


@dataclass(frozen=True, slots=True)
class Node:
    name: str  # "decode-1"
    role: str  # "router" | "prefill" | "decode"
    url: str  # where it answers HTTP when asked directly, past every link


@dataclass(frozen=True, slots=True)
class Guard:
    """A part of the stack whose duty it is to end or prevent a hang."""

    name: str
    on: bool
    knob: str  # the environment variable or flag that sets it
    value: str  # what the plan set it to
    budget_s: float  # from the moment a request is affected to its end by this guard


@dataclass(frozen=True, slots=True)
class Reading:
    name: str  # "prefill-0/sglang:num_prefill_inflight_queue_reqs"
    value: float
    idle: bool = False  # it is zero when nothing runs: a gauge of what runs, waits, or is underway


class Unreadable(Exception):
    """A probe got no answer in its bound. That is evidence, not an error of ours."""


class Probe(Protocol):
    """Reads numbers from one node without disturbing it. Bounded; raises Unreadable."""

    @property
    def name(self) -> str: ...

    def read(self) -> Sequence[Reading]: ...


class Clients(Protocol):
    """The load generator: one process of its own that plays requests and reports marks."""

    def start(self, requests: Sequence[Request], listener: Listener) -> None:
        """Play these requests; the dues count from now. One batch at a time."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """True when every request of the batch has settled or was skipped."""
        ...

    def stop(self, timeout_s: float) -> None:
        """Give up what still runs: those requests get no further mark."""
        ...

    def disconnect(self, request_id: str, timeout_s: float) -> bool:
        """Close this request's connection now. False if it was not open."""
        ...

    def pause_reading(self, request_id: str, timeout_s: float) -> bool:
        """Stop reading this reply, so that its body backs up. False if it was not open."""
        ...

    def resume_reading(self, request_id: str, timeout_s: float) -> bool: ...


class Stack(Protocol):
    """A running prefill/decode stack, seen from outside. Optional abilities are below."""

    @property
    def name(self) -> str: ...

    @property
    def url(self) -> str:
        """Where clients reach the router."""
        ...

    @property
    def model(self) -> str:
        """The served model's name: a router refuses requests for another one."""
        ...

    @property
    def nodes(self) -> Sequence[Node]: ...

    @property
    def guards(self) -> Mapping[str, Guard]: ...

    @property
    def deterministic(self) -> bool:
        """The same prompt gets the same greedy reply, whatever else is computed beside it."""
        ...

    @property
    def clients(self) -> Clients: ...

    @property
    def signals(self) -> Sequence[Probe]:
        """What an operator can see: read several times a second while load runs."""
        ...

    @property
    def resources(self) -> Sequence[Probe]:
        """What must return to its baseline: read when the stack is idle."""
        ...

    def ready(self) -> bool:
        """One bounded look: does every node answer, and would the router send it requests?"""
        ...

    def observe(self, listener: Listener) -> AbstractContextManager[None]:
        """While inside, every mark that a node makes is handed to the listener."""
        ...

    def attachments(self) -> Mapping[str, str]:
        """Texts worth keeping beside a verdict: node logs, effective environment (redacted)."""
        ...


class Driver(Protocol):
    """Knows how to start one kind of stack. Holds no running state."""

    @property
    def name(self) -> str: ...

    def launch(self) -> AbstractContextManager[Stack]: ...


@runtime_checkable
class Killable(Protocol):
    """Nodes can be killed and come back on the same address."""

    def kill(self, node: str, part: str = "whole") -> Mapping[str, Json]:
        """SIGKILL the node, or its "engine" alone, and hold it down; returns what died (pids)."""
        ...

    def restart(self, node: str, timeout_s: float) -> None:
        """Bring it back in place; returns when it answers again. One that runs is ended first."""
        ...

    def pids(self, node: str) -> Mapping[str, Json]:
        """The node's living processes by part ("front", "engine"); empty while it is down."""
        ...


@runtime_checkable
class Freezable(Protocol):
    """Processes can be stopped and continued. Part is "engine" or "whole"."""

    def freeze(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        """Freeze by "signal" or by "cgroup"; returns each pid and its process state."""
        ...

    def frozen(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        """Read back what `freeze` did, without doing it again: each pid and its state."""
        ...

    def thaw(self, node: str, part: str, how: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """Did the fault take effect, and what shows it."""

    bit: bool
    detail: Mapping[str, Json] = field(default_factory=dict[str, Json])


class Proof(Protocol):
    """Handed out by a fault; read once on entry and once more before it is undone."""

    def read(self) -> Evidence: ...


class Link(Protocol):
    """One directed connection with a name, bent by toxics."""

    @property
    def name(self) -> str: ...

    def bend(
        self, toxic: str, attributes: Mapping[str, Json], stream: str
    ) -> AbstractContextManager[Proof]:
        """Put a toxic on, read back; taken off on exit. Stream: "upstream" | "downstream"."""
        ...

    def cut(self) -> AbstractContextManager[Proof]:
        """Refuse and close everything while inside."""
        ...


@runtime_checkable
class Linked(Protocol):
    """Directed connections have names: "router->prefill-0", "prefill-0->decode-0/kv", ..."""

    @property
    def links(self) -> Mapping[str, Link]: ...


@runtime_checkable
class Armable(Protocol):
    """Nodes have failpoints."""

    @property
    def failpoint_sites(self) -> Sequence[str]: ...

    def arm(self, node: str, failpoint: Failpoint) -> AbstractContextManager[Proof]:
        """Armed while inside; leaving releases whoever is held. The proof is its hit count."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A node can be restarted with another environment."""

    def retune(
        self, node: str, environment: Mapping[str, str], timeout_s: float
    ) -> AbstractContextManager[Proof]:
        """Restart with these knobs, back to the plan's on exit. The proof: what it reads back,
        or, where the node refused to start, its exit code and last words."""
        ...


class Fault(Protocol):
    """One way to hurt a running stack, and the way back."""

    @property
    def name(self) -> str: ...

    @property
    def stage(self) -> Stage: ...

    @property
    def kind(self) -> FaultKind: ...

    @property
    def needs(self) -> type:
        """The ability of the stack without which this fault is skipped."""
        ...

    def inject(self, stack: Stack, rng: Random) -> AbstractContextManager[Proof]:
        """Hurt on entry, heal on exit, both bounded."""
        ...


class Oracle(Protocol):
    """Judges a finished history. Pure: no clock, no stack, no files."""

    @property
    def name(self) -> str: ...

    def judge(self, history: History) -> Finding: ...
