"""What a stack or a fault may say of itself beside its contract. Definitions only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from chaos.contracts import Stack
from chaos.stage import Stage


@dataclass(frozen=True, slots=True)
class Pace:
    """How much more time this stack needs than the one that suites are written for."""

    factor: float  # of every time of an experiment
    usual_restart_s: float  # how long a replaced node takes to answer again
    restart_s: float  # ... and at the latest after this
    tokens_max: int  # of one reply


@runtime_checkable
class Paced(Protocol):
    """A stack of another pace: times are stretched, replies clipped, budgets calibrated."""

    @property
    def pace(self) -> Pace: ...


@runtime_checkable
class Marking(Protocol):
    """A stack that cannot tell of every stage when a request enters it, and says of which it can.

    A strike that waits for another stage is skipped, by the stage's name.
    """

    @property
    def stages(self) -> frozenset[Stage]: ...


@runtime_checkable
class Restarting(Protocol):
    """A fault that restarts nodes one after the other, on its way in and out."""

    @property
    def restarts(self) -> int: ...


@runtime_checkable
class Choosy(Protocol):
    """A fault that needs more of a stack than its ability: a certain link, for example."""

    def lacks(self, stack: Stack) -> str | None:
        """What this stack does not have for it, or None."""
        ...
