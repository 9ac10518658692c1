"""What will be done, written down before it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from chaos.contracts import Fault, Workload
from chaos.specification import Alert, Budgets, Specification, StrikeSpec
from chaos.stage import Stage
from chaos.verdict import TOLERATED, Allowed

ALLOWED_MAX = 2  # more would be a test that accepts whatever comes


@dataclass(frozen=True, slots=True)
class At:
    """A strike begins this long after the load did."""

    at_s: float

    def __post_init__(self) -> None:
        if self.at_s < 0:
            raise ValueError(f"a strike cannot begin before the load does: at_s={self.at_s}")

    def __str__(self) -> str:
        return f"at {self.at_s:g} s"


@dataclass(frozen=True, slots=True)
class Entering:
    """A strike begins when this attempt of this request enters this stage.

    `attempt` counts from 1: a router that retries gives each attempt a new bootstrap room.
    """

    request_id: str
    stage: Stage
    attempt: int = 1

    def __str__(self) -> str:
        return f"when attempt {self.attempt} of {self.request_id} enters {self.stage.value}"


@dataclass(frozen=True, slots=True)
class Streaming:
    """A strike begins when the client has the first piece of this request's reply.

    The router has passed a part of the stream on by then. A decode enters `Stage.STREAM` a moment
    earlier, when nobody but itself knows of the piece.
    """

    request_id: str

    def __str__(self) -> str:
        return f"when the client hears the first piece of {self.request_id}"


Trigger = At | Entering | Streaming


@runtime_checkable
class Slowing(Protocol):
    """A fault that only slows: what it touches still makes progress, and nobody may condemn it."""

    @property
    def alive(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault, when it begins, and how long it lasts.

    It ends early when every request has settled: nothing further can be seen then. A guard that
    ends a request which it could not touch is a false alarm; `about` says which it may.
    """

    fault: Fault
    on: Trigger = field(default_factory=lambda: At(0.0))
    for_s: float = 8.0
    about: tuple[str, ...] = ()  # requests that it may hurt, as globs; empty: those on its nodes

    def __post_init__(self) -> None:
        if self.for_s <= 0:
            raise ValueError(f"a strike must last: for_s={self.for_s}")


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str
    seed: int
    workload: Workload
    strikes: tuple[Strike, ...] = ()
    budgets: Budgets = field(default_factory=Budgets)
    alerts: tuple[Alert, ...] = ()
    allowed: tuple[Allowed, ...] = (TOLERATED,)

    def __post_init__(self) -> None:
        if not 1 <= len(self.allowed) <= ALLOWED_MAX:
            raise ValueError(
                f"{self.name}: a specification allows one verdict, or two with the reason beside "
                f"them; this one allows {len(self.allowed)}"
            )

    def without_strikes(self) -> Experiment:
        """The fault-free control of this experiment."""
        return replace(self, name=f"{self.name} (control)", strikes=(), allowed=(TOLERATED,))

    def specification(
        self,
        stack: str,
        guards: Mapping[str, float],
        concurrency: int,
        patience: Mapping[str, float] | None = None,
    ) -> Specification:
        """The part of the experiment that goes into the history's header.

        `guards` maps each guard that is on to its budget in seconds, and `patience` to the
        time-out that its knob sets, where it has one.
        """
        return Specification(
            name=self.name,
            seed=self.seed,
            stack=stack,
            workload=self.workload.name,
            concurrency=concurrency,
            budgets=self.budgets,
            guards=dict(guards),
            patience=dict(patience or {}),
            alerts=self.alerts,
            strikes=tuple(
                StrikeSpec(
                    strike_id(index, strike.fault),
                    strike.fault.name,
                    strike.fault.stage,
                    strike.fault.kind,
                    str(strike.on),
                    strike.for_s,
                    alive=isinstance(strike.fault, Slowing) and strike.fault.alive,
                    about=strike.about,
                )
                for index, strike in enumerate(self.strikes)
            ),
            allowed=self.allowed,
        )


def strike_id(index: int, fault: Fault) -> str:
    """The name under which a strike appears in history: two strikes may share a fault."""
    return f"{index + 1}: {fault.name}"
