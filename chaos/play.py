"""What a suite says in one call: this load, these strikes, then these promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from chaos.arena import Arena, Wanted
from chaos.calibration import calibrated, paced
from chaos.contracts import Stack, Workload
from chaos.event import Json, Kind
from chaos.experiment import Entering, Experiment, Strike
from chaos.history import History
from chaos.judge import findings, judge
from chaos.oracles.recovery import ItServesAgain
from chaos.oracles.resources import ResourcesReturn
from chaos.reports.failure import failure_text
from chaos.run import run, run_control
from chaos.specification import Alert, Budgets
from chaos.traits import Choosy, Marking, Paced
from chaos.verdict import (
    BROKEN,
    TOLERATED,
    Allowed,
    Answer,
    NotProven,
    Outcome,
    Verdict,
    accepted,
)

UNHURT = frozenset({Outcome.TOLERATED, Outcome.CAUGHT, Outcome.SURFACED})


@dataclass(frozen=True, slots=True)
class Played:
    """One finished experiment, for whoever reports it."""

    history: History
    verdicts: tuple[Verdict, ...]
    file: Path
    stack: Stack


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        """Short: pytest shows it above every failure."""
        return f"<play {self.name}>"

    def __call__(
        self,
        load: Workload,
        strikes: Sequence[Strike] = (),
        *,
        allowed: Sequence[Allowed] = (TOLERATED,),
        alerts: Sequence[Alert] = (),
        budgets: Budgets | None = None,
    ) -> tuple[Verdict, ...]:
        __tracebackhide__ = True  # a refused verdict speaks for itself: pytest shows the suite
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
        if not isinstance(stack, Paced):
            control = self._control(experiment, stack)
        else:
            control = self._control(paced(experiment.without_strikes(), stack.pace), stack)
            experiment = paced(experiment, stack.pace)
            budgets = calibrated(experiment.budgets, control)
            experiment = replace(experiment, budgets=budgets)
        file = self._next_file()
        return self._judge(run(experiment, stack, control, keep=file), file, stack)

    def _control(self, experiment: Experiment, stack: Stack) -> History:
        return self.arena.control(
            self.wanted.plan,
            experiment.workload,
            self.seed,
            lambda: run_control(experiment, stack),
        )

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
            if why := _missing(stack, strike):
                self.skip(f"{stack.name} {why}: no {strike.fault.name} on it")

    def _judge(self, history: History, file: Path, stack: Stack) -> tuple[Verdict, ...]:
        __tracebackhide__ = True
        verdicts = judge(history)
        played = Played(history, verdicts, file, stack)
        self.played.append(played)
        try:
            self.finished(played)
        finally:  # a report that fails must not leave a hurt stack to the next experiment
            if not _unhurt(stack, history, verdicts):
                self.arena.condemn()
        allowed = history.specification.allowed
        refused = [one for one in verdicts if not accepted(one, allowed)]
        if not refused:
            return verdicts
        text = failure_text(history, refused, file, self.reproduce)
        if all(one.outcome in BROKEN for one in refused):
            raise NotProven(text)
        raise AssertionError(text)


def _unhurt(stack: Stack, history: History, verdicts: Sequence[Verdict]) -> bool:
    """Whether the next experiment may have this stack.

    One that takes a minute to replace is kept also after a hang that nobody told of, if it serves
    again and got all its resources back: then only its requests were hurt.
    """
    worse = [one for one in verdicts if one.outcome not in UNHURT]
    if not worse or not isinstance(stack, Paced):
        return not worse
    silent = all(one.outcome is Outcome.SILENT for one in worse)
    well = findings(history, (ItServesAgain(), ResourcesReturn()))
    return silent and all(one.answer is Answer.HOLDS for one in well)


def _missing(stack: Stack, strike: Strike) -> str | None:
    """What this stack cannot do or tell for this strike, or None."""
    needed = strike.fault.needs
    if not isinstance(stack, needed):
        return f"is not {needed.__name__}"
    if isinstance(strike.fault, Choosy) and (lacks := strike.fault.lacks(stack)):
        return f"has {lacks}"
    if isinstance(stack, Marking) and isinstance(strike.on, Entering):
        stage = strike.on.stage
        return None if stage in stack.stages else f"does not tell when stage {stage.value} begins"
    return None
