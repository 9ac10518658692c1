"""A fault that lies in wait for a request."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from random import Random
from typing import Protocol, runtime_checkable

from chaos.contracts import Proof, Stack

Spring = Callable[[], AbstractContextManager[Proof]]


@runtime_checkable
class Trap(Protocol):
    """What a fault can do besides, that gets nobody if it is laid after its request has passed.

    Where it strikes at the beginning it is laid before the load is sent, however slow the machine.
    """

    def lay(self, stack: Stack, rng: Random) -> AbstractContextManager[Spring]:
        """In place while inside, and bounded; what is given hurts as `Fault.inject` does."""
        ...
