"""A stack of names and numbers, on which a fault's logic can be watched step by step."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from chaos.contracts import Evidence, Node, Proof, Stack
from chaos.event import Json
from chaos.failpoint import Failpoint


@dataclass
class ToyStack:
    """Implements the abilities that the faults of this folder need, and writes down each call."""

    nodes: tuple[Node, ...] = (
        Node("router", "router", "http://127.0.0.1:1"),
        Node("prefill-0", "prefill", "http://127.0.0.1:2"),
        Node("decode-0", "decode", "http://127.0.0.1:3"),
        Node("decode-1", "decode", "http://127.0.0.1:4"),
    )
    deeds: list[str] = field(default_factory=list[str])
    alive: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    ice: dict[str, Json] = field(default_factory=dict[str, Json])
    room: dict[str, Json] = field(default_factory=dict[str, Json])
    told: dict[str, Json] = field(default_factory=dict[str, Json])
    state: str = "draining"  # of whom was told to go
    obeys: bool = True  # False: every deed is without effect
    hits: int = 0
    failpoint_sites: tuple[str, ...] = ("transfer.page", "transfer.done", "leg.answer")
    _pid: int = 100

    def __post_init__(self) -> None:
        for node in self.nodes:
            self._start(node.name)

    def as_stack(self) -> Stack:
        """It has what a fault asks a stack for, and not all that a Stack has."""
        return cast("Stack", self)

    def _start(self, node: str) -> None:
        self._pid += 1
        self.alive[node] = {"front": self._pid}

    def pids(self, node: str) -> Mapping[str, Json]:
        return dict(self.alive[node])

    def kill(self, node: str, part: str = "whole") -> Mapping[str, Json]:
        self.deeds.append(f"kill {node}" if part == "whole" else f"kill {node} {part}")
        before = self.pids(node)
        if self.obeys:
            self.alive[node] = {}
        return before

    def terminate(self, node: str) -> Mapping[str, Json]:
        self.deeds.append(f"terminate {node}")
        self.told = {"pid": self.alive[node]["front"], "start_ticks": 7}
        return self.terminated(node)

    def terminated(self, node: str) -> Mapping[str, Json]:
        return {**self.told, "state": self.state if self.obeys else "running"}

    def restart(self, node: str, timeout_s: float) -> None:
        self.deeds.append(f"restart {node}")
        if self.obeys:
            self._start(node)

    def freeze(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        self.deeds.append(f"freeze {node} {part} {how}")
        self.ice = {"7": ("T" if how == "signal" else "FROZEN") if self.obeys else "S"}
        return dict(self.ice)

    def frozen(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        return dict(self.ice)

    def thaw(self, node: str, part: str, how: str) -> None:
        self.deeds.append(f"thaw {node} {part} {how}")
        self.ice = {}

    def limit_descriptors(self, node: str, part: str) -> None:
        self.deeds.append(f"limit {node} {part}")
        self.room = {"7": 0 if self.obeys else 100}

    def descriptor_room(self, node: str, part: str) -> Mapping[str, Json]:
        return dict(self.room)

    def unlimit_descriptors(self, node: str, part: str) -> None:
        self.deeds.append(f"unlimit {node} {part}")
        self.room = {}

    @contextmanager
    def arm(self, node: str, failpoint: Failpoint) -> Generator[Proof]:
        self.deeds.append(f"arm {failpoint.action} {failpoint.site} on {node}")
        try:
            yield Told(lambda: Evidence(self.hits > 0, {"node": node, "hits": self.hits}))
        finally:
            self.deeds.append(f"disarm {node}")

    @contextmanager
    def retune(
        self, node: str, environment: Mapping[str, str], timeout_s: float
    ) -> Generator[Proof]:
        self.deeds.append(f"retune {node} {dict(environment)}")
        try:
            yield Told(lambda: Evidence(self.obeys, {"node": node}))
        finally:
            self.deeds.append(f"tune back {node}")


class Told:
    """A proof that is whatever it is asked to tell."""

    def __init__(self, tell: object) -> None:
        self._tell = tell

    def read(self) -> Evidence:
        assert callable(self._tell)
        evidence = self._tell()
        assert isinstance(evidence, Evidence)
        return evidence
