"""A stack made of nothing, for tests of the experiment engine itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random

from chaos.contracts import (
    Evidence,
    Guard,
    Listener,
    Node,
    Probe,
    Proof,
    Reading,
    Request,
    Unreadable,
)
from chaos.event import Json, Kind, Mark
from chaos.stage import FaultKind, Stage
from chaos.trap import Spring

FOREVER_S = 60.0  # longer than any bound in a test, and yet no thread stays for ever


def reply(request: Request) -> str:
    return sha256(request.prompt.encode()).hexdigest()[: request.tokens_max]


@dataclass
class FakeClients:
    """Answers at once, unless told to leave a request hanging or to refuse it."""

    hangs: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    cancels: frozenset[str] = frozenset()  # their clients leave, and their node keeps them
    wait_fails: Exception | None = None
    start_hangs: bool = False
    never_done: bool = False  # it says that some request still runs, whatever happens
    lag_s: float = 0.0
    takes_s: float = 0.0
    taken: Callable[[Request], object] = str  # told of every request when it is sent
    played: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    stopped: int = 0
    _left: set[str] = field(default_factory=set[str])
    _settled: threading.Condition = field(default_factory=threading.Condition)

    def start(self, requests: Sequence[Request], listener: Listener) -> None:
        if self.start_hangs:
            threading.Event().wait(FOREVER_S)
        self.played.append(tuple(one.request_id for one in requests))
        self._left = {one.request_id for one in requests}
        for request in requests:
            threading.Thread(target=self._play, args=(request, listener), daemon=True).start()

    def wait(self, timeout_s: float) -> bool:
        if self.wait_fails is not None:
            raise self.wait_fails
        with self._settled:
            return self._settled.wait_for(lambda: not (self._left or self.never_done), timeout_s)

    def stop(self, timeout_s: float) -> None:
        self.stopped += 1
        with self._settled:
            self._left = set()

    def disconnect(self, request_id: str, timeout_s: float) -> bool:
        return False

    def pause_reading(self, request_id: str, timeout_s: float) -> bool:
        return False

    def resume_reading(self, request_id: str, timeout_s: float) -> bool:
        return False

    def _play(self, request: Request, listener: Listener) -> None:
        threading.Event().wait(request.due_s)
        name = request.request_id
        if self.lag_s:
            listener(_mark(Kind.LAG, "load_generator", {"lag_s": self.lag_s}))
        listener(_mark(Kind.SENT, name, {"routing_key": request.routing_key}))
        self.taken(request)
        listener(_stage("prefill-0", name, Stage.TRANSFER, 7))
        if name in self.hangs:
            return
        threading.Event().wait(self.takes_s)
        if name in self.cancels:
            listener(_mark(Kind.CANCELLED, name, {}))
        elif name in self.refuses:
            listener(_mark(Kind.REFUSED, name, {"status": 503, "code": "no", "error": "no"}))
        else:
            self._finish(request, listener)
        with self._settled:
            self._left.discard(name)
            self._settled.notify_all()

    def _finish(self, request: Request, listener: Listener) -> None:
        text = reply(request)
        listener(_stage("prefill-0", request.request_id, Stage.CLEANUP, 7))
        listener(_mark(Kind.TOKENS, request.request_id, {"text": text}))
        detail: dict[str, Json] = {
            "finish_reason": "length",
            "tokens": len(text),
            "sha256": sha256(text.encode()).hexdigest(),
            "done": True,
        }
        listener(_mark(Kind.FINISHED, request.request_id, detail))


def _mark(kind: Kind, about: str, detail: Mapping[str, Json]) -> Mark:
    return Mark(time.monotonic_ns(), "client", kind, about, detail=detail)


def _stage(node: str, about: str, stage: Stage, room: int) -> Mark:
    return Mark(time.monotonic_ns(), node, Kind.STAGE, about, stage, room)


@dataclass
class FakeProbe:
    """Reads one number; told to, it is slow, or unreadable, or breaks."""

    name: str = "prefill-0/pages"
    value: float = 0.0
    fails: Exception | None = None
    takes_s: float = 0.0

    def read(self) -> Sequence[Reading]:
        threading.Event().wait(self.takes_s)
        if self.fails is not None:
            raise self.fails
        return [Reading(self.name, self.value)]


def unreadable(name: str) -> FakeProbe:
    return FakeProbe(name, fails=Unreadable("no route"))


@dataclass
class FakeStack:
    clients: FakeClients = field(default_factory=FakeClients)
    signals: Sequence[Probe] = field(default_factory=lambda: [FakeProbe("prefill-0/inflight")])
    resources: Sequence[Probe] = field(default_factory=lambda: [FakeProbe("prefill-0/pages")])
    guards: Mapping[str, Guard] = field(default_factory=dict[str, Guard])
    observe_hangs: bool = False
    observers: list[Listener] = field(default_factory=list[Listener])
    name: str = "fake"
    model: str = "fake"
    deterministic: bool = True
    url: str = "http://127.0.0.1:1"
    nodes: Sequence[Node] = (Node("prefill-0", "prefill", "http://127.0.0.1:2"),)

    def ready(self) -> bool:
        return True

    @contextmanager
    def observe(self, listener: Listener) -> Generator[None]:
        self.observers.append(listener)
        yield
        self.observers.remove(listener)
        if self.observe_hangs:
            threading.Event().wait(FOREVER_S)

    def attachments(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True)
class FakeProof:
    bit: bool = True
    hangs: bool = False
    fails: Exception | None = None

    def read(self) -> Evidence:
        _hang_or_raise(self.hangs, self.fails)
        return Evidence(self.bit, {"node": "prefill-0"})


@dataclass(frozen=True)
class FakeFault:
    """Notes when it begins and ends; told to, it hangs or fails on the way in or out."""

    name: str = "fault"
    notes: list[str] = field(default_factory=list[str])
    bites: bool = True
    enter_fails: Exception | None = None
    exit_fails: Exception | None = None
    enter_hangs: bool = False
    exit_hangs: bool = False
    enter_takes_s: float = 0.0
    proof: FakeProof | None = None
    alive: bool = False
    stage: Stage = Stage.TRANSFER
    kind: FaultKind = FaultKind.LATE
    needs: type = object

    @contextmanager
    def inject(self, stack: object, rng: Random) -> Generator[FakeProof]:
        _hang_or_raise(self.enter_hangs, self.enter_fails)
        threading.Event().wait(self.enter_takes_s)
        self.notes.append(f"{self.name} begins")
        try:
            yield self.proof or FakeProof(self.bites)
        finally:
            _hang_or_raise(self.exit_hangs, self.exit_fails)
            self.notes.append(f"{self.name} ends")


@dataclass(frozen=True)
class FakeTrap:
    """Takes its time to be laid, and is sprung at once."""

    fault: FakeFault = field(default_factory=FakeFault)
    laying_takes_s: float = 0.0
    laying_hangs: bool = False
    name: str = "trap"
    stage: Stage = Stage.TRANSFER
    kind: FaultKind = FaultKind.LATE
    needs: type = object

    @contextmanager
    def lay(self, stack: object, rng: Random) -> Generator[Spring]:
        _hang_or_raise(self.laying_hangs, None)
        threading.Event().wait(self.laying_takes_s)
        self.fault.notes.append("laid")
        yield lambda: self.fault.inject(stack, rng)
        self.fault.notes.append("gone")

    @contextmanager
    def inject(self, stack: object, rng: Random) -> Generator[Proof]:
        with self.lay(stack, rng) as spring, spring() as proof:
            yield proof


def _hang_or_raise(hangs: bool, fails: Exception | None) -> None:  # noqa: FBT001 - a test's switch
    if hangs:
        threading.Event().wait(FOREVER_S)
    if fails is not None:
        raise fails


@dataclass(frozen=True)
class Crowd:
    """So many requests, "r0", "r1", ...: at once, or each so much later than the one before."""

    count: int = 2
    due_s: float = 0.0
    every_s: float = 0.0
    name: str = "crowd"

    def requests(self, rng: Random) -> Sequence[Request]:
        return [
            Request(f"r{i}", self.due_s + i * self.every_s, f"{rng.getrandbits(40):x}", 8)
            for i in range(self.count)
        ]
