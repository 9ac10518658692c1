"""A history while it is being drawn: marks of a run and of its control, and what was planned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from typing import Protocol

from chaos.clock import ns
from chaos.event import Json, Kind, Mark
from chaos.history import History, ordered
from chaos.specification import Alert, Budgets, Specification, StrikeSpec
from chaos.stage import Stage

BEGIN_NS = 5_000_000_000
GUARDS = {
    "waiting_timeout": 3.0,
    "prefill_inflight_watchdog": 2.5,
    "step_watchdog": 4.0,
    "router_error_reply": 1.0,
    "router_health": 5.0,
    "sticky_sessions": 1.0,
}
TIME_OUTS = {"waiting_timeout": 2.0, "prefill_inflight_watchdog": 1.5, "step_watchdog": 2.0}


class Note(Protocol):
    """Writes one mark down: into the run, or into the control."""

    def __call__(
        self, at_s: float, actor: str, kind: Kind, about: str, /, **detail: Json
    ) -> None: ...


@dataclass
class Draft:
    rng: Random
    run: list[Mark] = field(default_factory=list[Mark])
    control: list[Mark] = field(default_factory=list[Mark])
    strikes: list[StrikeSpec] = field(default_factory=list[StrikeSpec])
    alerts: list[Alert] = field(default_factory=list[Alert])
    guards: dict[str, float] = field(default_factory=lambda: dict(GUARDS))
    concurrency: int = 1
    recover_s: float = 24.0
    deterministic: bool = True

    def chance(self, of_a_hundred: int) -> bool:
        return self.rng.randrange(100) < of_a_hundred

    def note(self, at_s: float, actor: str, kind: Kind, about: str, **detail: Json) -> None:
        self.run.append(mark(at_s, actor, kind, about, **detail))

    def note_control(self, at_s: float, actor: str, kind: Kind, about: str, **detail: Json) -> None:
        self.control.append(mark(at_s, actor, kind, about, **detail))

    def history(self) -> History:
        specification = Specification(
            name="drawn",
            seed=7,
            stack="fake",
            workload="drawn",
            concurrency=self.concurrency,
            budgets=Budgets(),
            guards=self.guards,
            patience=TIME_OUTS,
            alerts=tuple(self.alerts),
        )
        control = History(ordered(self.control), specification)
        planned = replace(specification, strikes=tuple(self.strikes))
        return History(ordered(self.run), planned, control)


def mark(at_s: float, actor: str, kind: Kind, about: str, **detail: Json) -> Mark:
    stage = detail.pop("stage", None)
    at_ns = BEGIN_NS + ns(at_s)
    if isinstance(stage, str):
        return Mark(at_ns, actor, kind, about, Stage(stage), 7, detail)
    return Mark(at_ns, actor, kind, about, detail=detail)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
