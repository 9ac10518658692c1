"""A fault inside another one: the first hurts already when the second strikes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from chaos.contracts import Evidence, Fault, Proof, Stack
from chaos.stage import FaultKind, Stage


@dataclass(frozen=True, slots=True)
class Nested:
    """Enter `first`, then `then`; undone in the opposite order. It bit when both did.

    Two strikes with times of their own cannot promise their order on a busy machine; this does.
    """

    first: Fault
    then: Fault

    @property
    def name(self) -> str:
        return f"{self.then.name} during {self.first.name}"

    @property
    def stage(self) -> Stage:
        return self.then.stage

    @property
    def kind(self) -> FaultKind:
        return self.then.kind

    @property
    def needs(self) -> type:
        """What a link or a node must be able to do; whoever plays requests has a client anyway."""
        return self.first.needs

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        with self.first.inject(stack, rng) as outer, self.then.inject(stack, rng) as inner:
            yield Each(outer, inner)


@dataclass(frozen=True, slots=True)
class Each:
    """Both took effect; what the second one hit is told as it tells it."""

    outer: Proof
    inner: Proof

    def read(self) -> Evidence:
        first, then = self.outer.read(), self.inner.read()
        return Evidence(first.bit and then.bit, {**first.detail, **then.detail})
