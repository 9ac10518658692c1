"""What a suite says in one call: this load, these strikes, then these promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from chaos.arena import Arena, Wanted
from chaos.contracts import Stack, Workload
from chaos.event import Json, Kind
from chaos.experiment import Experiment, Strike
from chaos.history import History
from chaos.judge import judge
from chaos.reports.failure import failure_text
from chaos.run import run, run_control
from chaos.specification import Alert, Budgets
from chaos.verdict import BROKEN, TOLERATED, Allowed, NotProven, Outcome, Verdict, accepted

UNHURT = frozenset({Outcome.TOLERATED, Outcome.CAUGHT, Outcome.SURFACED})


@dataclass(frozen=True, slots=True)
class Played:
    """One finished experiment, for whoever reports it."""

    history: History
    verdicts: tuple[Verdict, ...]
    file: Path
    stack: Stack


@dataclass(frozen=True)
class Play:
    """Plays experiments on the arena's stack and raises what the specification forbids.

    Raises AssertionError when a strike's verdict is not allowed, and NotProven when an
    experiment could not decide (NO_OP, UNKNOWN): Allure shows *failed* and *broken*.
    """

    name: str
    arena: Arena
    wanted: Wanted
    seed: int
    file: Path
    reproduce: str
    skip: Callable[[str], NoReturn]
    finished: Callable[[Played], None]
    alerts: tuple[Alert, ...] = ()
    played: list[Played] = field(default_factory=list[Played])

    def __call__(
        self,
        load: Workload,
        strikes: Sequence[Strike] = (),
        *,
        allowed: Sequence[Allowed] = (TOLERATED,),
        alerts: Sequence[Alert] = (),
        budgets: Budgets | None = None,
    ) -> tuple[Verdict, ...]:
        experiment = Experiment(
            name=self.name,
            seed=self.seed,
            workload=load,
            strikes=tuple(strikes),
            budgets=budgets or Budgets(),
            alerts=(*self.alerts, *alerts),
            allowed=tuple(allowed),
        )
        stack = self.arena.stack(self.wanted)
        self._skip_without_abilities(stack, strikes)
        control = self.arena.control(
            self.wanted.plan, load, self.seed, lambda: run_control(experiment, stack)
        )
        file = self._next_file()
        return self._judge(run(experiment, stack, control, keep=file), file, stack)

    def proof(self) -> Mapping[str, Json]:
        """What the last experiment's first strike proved on entry, for a suite to look at."""
        return self.played[-1].history.of(Kind.STRUCK)[0].detail

    def _next_file(self) -> Path:
        """Where the history goes while it happens: a test may play more than once."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        number = f".{len(self.played) + 1}" if self.played else ""
        return self.file.with_name(f"{self.file.stem}{number}{self.file.suffix}")

    def _skip_without_abilities(self, stack: Stack, strikes: Sequence[Strike]) -> None:
        for strike in strikes:
            needed = strike.fault.needs
            if not isinstance(stack, needed):
                self.skip(f"{stack.name} is not {needed.__name__}: no {strike.fault.name} on it")

    def _judge(self, history: History, file: Path, stack: Stack) -> tuple[Verdict, ...]:
        verdicts = judge(history)
        played = Played(history, verdicts, file, stack)
        self.played.append(played)
        self.finished(played)
        if any(verdict.outcome not in UNHURT for verdict in verdicts):
            self.arena.condemn()
        allowed = history.specification.allowed
        refused = [one for one in verdicts if not accepted(one, allowed)]
        if not refused:
            return verdicts
        text = failure_text(history, refused, file, self.reproduce)
        if all(one.outcome in BROKEN for one in refused):
            raise NotProven(text)
        raise AssertionError(text)
