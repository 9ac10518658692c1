"""Whole processes: killed, told to go, frozen, replaced."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol, runtime_checkable

from chaos.contracts import Evidence, Freezable, Killable, Proof, Stack
from chaos.event import Json
from chaos.stage import FaultKind, Stage
from faults.victim import choose, restart_s, stage_of

RESTART_S: Final = 4.5  # below the five seconds that an experiment grants for healing
_STILL: Final = frozenset({"T", "FROZEN"})
_GONE: Final = "X"
_GOING: Final = frozenset({"draining", "gone"})


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL a node and hold it down; it is started again, on its address, to heal."""

    node: str  # "decode-1", or a role: then the seed chooses
    stage: Stage = Stage.LIFECYCLE
    part: str = "whole"  # | "engine": what its HTTP front does then is its own affair
    restart_s: float = RESTART_S
    kind: FaultKind = field(default=FaultKind.KILLED, init=False)
    needs: type = field(default=Killable, init=False)

    @property
    def name(self) -> str:
        return f"kill {self.node}" + ("" if self.part == "whole" else f" {self.part}")

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Killable)
        victim = choose(stack, self.node, rng)
        before = stack.pids(victim)
        try:
            stack.kill(victim, self.part)
            dead = before if self.part == "whole" else _engine(before)
            yield _PidsGone(victim, dead, lambda: stack.pids(victim))
        finally:
            stack.restart(victim, restart_s(stack, self.restart_s))


@runtime_checkable
class Terminable(Protocol):
    """Nodes can be told to go, as an orchestrator does it, and come back on the same address."""

    def terminate(self, node: str) -> Mapping[str, Json]:
        """SIGTERM to the node's first process; returns what `terminated` reads."""
        ...

    def terminated(self, node: str) -> Mapping[str, Json]:
        """The pid and start time of the process that was told, and its state now: "running",
        "draining" or "gone"."""
        ...

    def restart(self, node: str, timeout_s: float) -> None:
        """Bring it back in place; returns when it answers again. One that runs is ended first."""
        ...


@dataclass(frozen=True, slots=True)
class Terminate:
    """Tell a node to go: SIGTERM to its first process. It is started again to heal.

    What the node does with its requests is its own affair: a drain, if it has one.
    """

    node: str
    stage: Stage = Stage.LIFECYCLE
    restart_s: float = RESTART_S
    kind: FaultKind = field(default=FaultKind.KILLED, init=False)
    needs: type = field(default=Terminable, init=False)

    @property
    def name(self) -> str:
        return f"terminate {self.node}"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Terminable)
        victim = choose(stack, self.node, rng)
        try:
            told = stack.terminate(victim)
            yield _ToldToGo(victim, told, lambda: stack.terminated(victim))
        finally:
            stack.restart(victim, restart_s(stack, self.restart_s))


@dataclass(frozen=True, slots=True)
class Restart:
    """Replace a node by a new process on the same address. There is nothing to heal."""

    node: str
    stage: Stage = Stage.LIFECYCLE
    restart_s: float = RESTART_S
    kind: FaultKind = field(default=FaultKind.KILLED, init=False)
    needs: type = field(default=Killable, init=False)
    restarts: int = field(default=1, init=False)

    @property
    def name(self) -> str:
        return f"restart {self.node}"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Killable)
        victim = choose(stack, self.node, rng)
        before = stack.pids(victim)
        stack.restart(victim, restart_s(stack, self.restart_s))
        yield _Replaced(victim, before, lambda: stack.pids(victim))


@dataclass(frozen=True, slots=True)
class Freeze:
    """Stop a node where it stands, alive: its engine or all of it, by signal or by cgroup."""

    node: str
    part: str = "whole"  # | "engine": then its HTTP front goes on answering
    how: str = "signal"  # | "cgroup": then SIGKILL does not help either, until it is thawed
    at: Stage | None = None  # for the map; by default where this node does its work
    kind: FaultKind = field(default=FaultKind.FROZEN, init=False)
    needs: type = field(default=Freezable, init=False)

    def __post_init__(self) -> None:
        for what, value, known in (
            ("part", self.part, ("whole", "engine")),
            ("how", self.how, ("signal", "cgroup")),
        ):
            if value not in known:
                raise ValueError(f"{what}: expected one of {', '.join(known)}, not {value!r}")

    @property
    def stage(self) -> Stage:
        return self.at or stage_of(self.node)

    @property
    def name(self) -> str:
        part = "" if self.part == "whole" else f" {self.part}"
        return f"freeze {self.node}{part}" + (" by cgroup" if self.how == "cgroup" else "")

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Freezable)
        victim = choose(stack, self.node, rng)
        try:
            first = stack.freeze(victim, self.part, self.how)
            yield _Frozen(victim, first, lambda: stack.frozen(victim, self.part, self.how))
        finally:
            stack.thaw(victim, self.part, self.how)


@dataclass(frozen=True, slots=True)
class _PidsGone:
    """Every process that the node had is gone, whatever runs there now."""

    node: str
    before: Mapping[str, Json]
    now: Callable[[], Mapping[str, Json]]

    def read(self) -> Evidence:
        now = self.now()
        gone = bool(self.before) and not set(self.before.values()) & set(now.values())
        return Evidence(gone, {"node": self.node, **_told("killed", self.before)})


@dataclass(frozen=True, slots=True)
class _ToldToGo:
    """The very process that was told to go drains, or is gone."""

    node: str
    told: Mapping[str, Json]
    now: Callable[[], Mapping[str, Json]]

    def read(self) -> Evidence:
        now = self.now()
        same = all(now.get(what) == self.told[what] for what in ("pid", "start_ticks"))
        return Evidence(same and now.get("state") in _GOING, {"node": self.node, **now})


@dataclass(frozen=True, slots=True)
class _Replaced:
    """The node runs, and none of its processes is one that it had."""

    node: str
    before: Mapping[str, Json]
    now: Callable[[], Mapping[str, Json]]

    def read(self) -> Evidence:
        now = self.now()
        new = bool(now) and not set(self.before.values()) & set(now.values())
        detail = {**_told("before", self.before), **_told("now", now)}
        return Evidence(new, {"node": self.node, **detail})


@dataclass(frozen=True, slots=True)
class _Frozen:
    """Every process stood still on entry and has not run since: it stands still, or was killed
    where it stood, which is what a watchdog does to it.
    """

    node: str
    first: Mapping[str, Json]
    now: Callable[[], Mapping[str, Json]]

    def read(self) -> Evidence:
        now = self.now()
        held = bool(self.first) and all(state in _STILL for state in self.first.values())
        still = now.keys() == self.first.keys() and all(
            state in _STILL or state == _GONE for state in now.values()
        )
        return Evidence(held and still, {"node": self.node, **_told("pid", now)})


def _engine(pids: Mapping[str, Json]) -> Mapping[str, Json]:
    return {part: pid for part, pid in pids.items() if part.startswith("engine")}


def _told(what: str, pids: Mapping[str, Json]) -> dict[str, Json]:
    """Pids or states as flat details: "killed.engine": 4711."""
    return {f"{what}.{part}": value for part, value in pids.items()}
