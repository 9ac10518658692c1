"""A node that may have no more of something the kernel counts: descriptors."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, runtime_checkable

from chaos.contracts import Evidence, Proof, Stack
from chaos.event import Json
from chaos.stage import FaultKind, Stage
from faults.victim import choose

PARTS = ("engine", "whole")


@runtime_checkable
class Limitable(Protocol):
    """The descriptors of its processes can be limited from outside, while they run."""

    def limit_descriptors(self, node: str, part: str) -> None:
        """No process of this part gets a descriptor beyond those it has now."""
        ...

    def descriptor_room(self, node: str, part: str) -> Mapping[str, Json]:
        """How many more each limited process may open, by pid; "X" where it is gone."""
        ...

    def unlimit_descriptors(self, node: str, part: str) -> None:
        """As before. What is not limited is left alone."""
        ...


@dataclass(frozen=True, slots=True)
class FewDescriptors:
    """From now on accept() and open() fail with EMFILE in a node's engine, or in all of it.

    A descriptor that the process closes meanwhile it may use again: what is open stays possible,
    one more does not.
    """

    node: str  # "decode-0", or a role: then the seed chooses
    part: str = "engine"  # | "whole"
    stage: Stage = Stage.TRANSFER
    kind: FaultKind = field(default=FaultKind.EXHAUSTED, init=False)
    needs: type = field(default=Limitable, init=False)

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ValueError(f"part: expected one of {', '.join(PARTS)}, not {self.part!r}")

    @property
    def name(self) -> str:
        part = "" if self.part == "whole" else f" {self.part}"
        return f"no more descriptors for {self.node}{part}"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Limitable)
        victim = choose(stack, self.node, rng)
        try:
            stack.limit_descriptors(victim, self.part)
            yield _NoRoom(stack, victim, self.part)
        finally:
            stack.unlimit_descriptors(victim, self.part)


@dataclass(frozen=True, slots=True)
class _NoRoom:
    """No process of it that lives may open one more. One that died of that has felt it."""

    stack: Limitable
    node: str
    part: str

    def read(self) -> Evidence:
        room = self.stack.descriptor_room(self.node, self.part)
        tight = bool(room) and all(left in (0, "X") for left in room.values())
        return Evidence(tight, {"node": self.node, **{f"room.{pid}": n for pid, n in room.items()}})
