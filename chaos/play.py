"""What a suite says in one call: this load, these strikes, then these promises."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NoReturn, TypeVar

from chaos import history_file
from chaos.arena import Arena
from chaos.contracts import Stack, Workload
from chaos.experiment import Experiment, Strike
from chaos.history import History
from chaos.judge import judge
from chaos.reports.failure import failure_text
from chaos.run import run
from chaos.specification import Alert, Budgets
from chaos.verdict import BROKEN, TOLERATED, Allowed, NotProven, Outcome, Verdict, accepted

Plan = TypeVar("Plan", bound=Hashable)
UNHURT = frozenset({Outcome.TOLERATED, Outcome.CAUGHT, Outcome.SURFACED})


@dataclass(frozen=True, slots=True)
class Played:
    """One finished experiment, for whoever reports it."""

    history: History
    verdicts: tuple[Verdict, ...]
    file: Path
    stack: Stack


@dataclass(frozen=True)
class Play(Generic[Plan]):
    """Plays experiments on the arena's stack and raises what the specification forbids.

    Raises AssertionError when a strike's verdict is not allowed, and NotProven when an
    experiment could not decide (NO_OP, UNKNOWN): Allure shows *failed* and *broken*.
    """

    name: str
    arena: Arena[Plan]
    plan: Plan
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
        stack = self.arena.stack(self.plan)
        self._skip_without_abilities(stack, strikes)
        control = self.arena.control(
            self.plan, load, self.seed, lambda: run(experiment.without_strikes(), stack)
        )
        return self._judge(experiment, run(experiment, stack, control), stack)

    def _skip_without_abilities(self, stack: Stack, strikes: Sequence[Strike]) -> None:
        for strike in strikes:
            needed = strike.fault.needs
            if not isinstance(stack, needed):
                self.skip(f"{stack.name} is not {needed.__name__}: no {strike.fault.name} on it")

    def _judge(
        self, experiment: Experiment, history: History, stack: Stack
    ) -> tuple[Verdict, ...]:
        verdicts = judge(history)
        file = self.file.with_suffix(f".{len(self.played) + 1}.jsonl" if self.played else ".jsonl")
        history_file.write(file, history)
        self.finished(Played(history, verdicts, file, stack))
        if any(verdict.outcome not in UNHURT for verdict in verdicts):
            self.arena.condemn()
        refused = [one for one in verdicts if not accepted(one, experiment.allowed)]
        if not refused:
            return verdicts
        text = failure_text(history, refused, file, self.reproduce)
        if all(one.outcome in BROKEN for one in refused):
            raise NotProven(text)
        raise AssertionError(text)
