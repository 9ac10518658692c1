"""The promises that a history is judged by. Plain values: they travel in the history's header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.stage import FaultKind, Stage
from chaos.verdict import Allowed


@dataclass(frozen=True, slots=True)
class Budgets:
    """Every wait of an experiment, in seconds.

    `service_s`: a request that took at most this much longer than in the fault-free control
    was not affected. `delay_s`: one that ended correctly and took at most this much longer is
    tolerated "with delay", though no guard spoke; beyond it, somebody must. `settle_s`: an
    affected request that has not ended this long after it was affected (sent, or struck if that
    came later) is hung, unless its client still receives tokens.
    """

    service_s: float = 1.0
    delay_s: float = 2.0
    settle_s: float = 6.0
    detect_s: float = 4.0  # an alert must fire this soon after the strike
    trigger_s: float = 6.0  # a strike's trigger must come this soon after the load began
    heal_s: float = 5.0
    converge_s: float = 8.0
    recover_s: float = 5.0  # lone request, capacity probe, resources back: each
    release_s: float = 6.0  # whoever held a request lets go this soon after its client has left
    lag_s: float = 0.5  # our own loop lag above which nothing is proven

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise ValueError(f"a bound must be positive: {name}={getattr(self, name)}")
        if self.converge_s < self.settle_s:
            raise ValueError(
                f"converge_s={self.converge_s:g} must be at least settle_s={self.settle_s:g}: "
                f"we would stop watching before a request can be called hung"
            )


@dataclass(frozen=True, slots=True)
class Alert:
    """What an operator has been told to look at, written down before the run.

    It fires when a reading whose name matches `reading` (a glob over "node/metric") satisfies
    `op threshold` in every sample for `for_s`. "pinned": non-zero and unchanged for `for_s`.
    "unreadable": the probe got no answer for `for_s` (threshold is ignored).

    It tells of the requests that have to do with the node or the link in the reading's name; with
    `whole_stack` it tells of every request.
    """

    name: str
    reading: str
    op: str  # "<" | "<=" | "==" | ">=" | ">" | "pinned" | "unreadable"
    threshold: float = 0.0
    for_s: float = 0.5
    whole_stack: bool = False

    def __post_init__(self) -> None:
        if self.op not in {"<", "<=", "==", ">=", ">", "pinned", "unreadable"}:
            raise ValueError(f"alert {self.name}: unknown op {self.op!r}")


@dataclass(frozen=True, slots=True)
class StrikeSpec:
    strike: str  # its id in the history
    fault: str
    stage: Stage
    kind: FaultKind
    trigger: str
    for_s: float
    nodes: tuple[str, ...] = ()  # those it hurts; empty: those of its proof, or that its id names
    alive: bool = False  # it only slows: whatever it touches still makes progress
    about: tuple[str, ...] = ()  # requests that it may hurt, as globs; empty: those on its nodes


@dataclass(frozen=True, slots=True)
class Specification:
    name: str
    seed: int
    stack: str
    workload: str
    concurrency: int
    budgets: Budgets
    guards: Mapping[str, float] = field(default_factory=dict[str, float])  # name -> budget_s
    patience: Mapping[str, float] = field(default_factory=dict[str, float])  # name -> its time-out
    alerts: tuple[Alert, ...] = ()
    strikes: tuple[StrikeSpec, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    deterministic: bool = True  # the same prompt gets the same greedy reply, in any batch
