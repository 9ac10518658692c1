"""What a suite says in one call: this load, these strikes, then these promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from chaos.accusers import everyone
from chaos.arena import Arena, Wanted
from chaos.calibration import calibrated, paced
from chaos.comparison import Comparison, Expected, key_of
from chaos.contracts import Stack, Workload
from chaos.event import Json, Kind
from chaos.experiment import Entering, Experiment, Strike
from chaos.history import History
from chaos.homes import keys_on
from chaos.judge import findings, judge
from chaos.oracles.accuser import Accuser
from chaos.oracles.recovery import ItServesAgain
from chaos.oracles.resources import ResourcesReturn
from chaos.reports.failure import failure_text
from chaos.run import run, run_control
from chaos.specification import Alert, Budgets
from chaos.stage import Stage
from chaos.traits import Choosy, Marking, Paced
from chaos.verdict import (
    BROKEN,
    TOLERATED,
    Allowed,
    Answer,
    NotProven,
    Outcome,
    Verdict,
)

UNHURT = frozenset({Outcome.TOLERATED, Outcome.CAUGHT, Outcome.SURFACED})
AGAIN_MAX = 2  # a machine that is too busy three times in a row is the wrong machine


@dataclass(frozen=True, slots=True)
class Played:
    """One finished experiment, for whoever reports it."""

    history: History
    verdicts: tuple[Verdict, ...]
    file: Path
    stack: Stack
    comparison: Comparison = field(default_factory=Comparison)
    number: int = 1  # which play of its test it is

    @property
    def keys(self) -> tuple[str, ...]:
        """Under which its verdicts stand in an expected file."""
        return tuple(key_of(self.number, one.strike) for one in self.verdicts)


@dataclass(frozen=True, repr=False)
class Play:
    """Plays experiments on the arena's stack and raises what the specification forbids.

    Raises AssertionError when a strike's verdict is not allowed, or not the one that the expected
    file names, and NotProven when an experiment could not decide (NO_OP, UNKNOWN): Allure shows
    *failed* and *broken*. What only a busy machine left undecided is played again, and told.
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
    expected: Expected = field(default_factory=Expected)
    accept: bool = False  # a verdict that is promised, and not in the file, will be written there
    known_bug: Callable[[str], object] = str  # ends the test as an expected failure
    undecided: Callable[[Played], object] = repr  # it will be played again
    played: list[Played] = field(default_factory=list[Played])  # those that had to be judged
    files: list[Path] = field(default_factory=list[Path])  # of every run, in their order

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
        oracles: Sequence[Accuser] = (),
    ) -> tuple[Verdict, ...]:
        """`oracles` judge beside ours and the installed ones; what they see counts as much."""
        __tracebackhide__ = True  # a refused verdict speaks for itself: pytest shows the suite
        accusers = everyone(oracles)
        experiment = Experiment(
            name=self.name,
            seed=self.seed,
            workload=load,
            strikes=tuple(strikes),
            budgets=budgets or Budgets(),
            alerts=(*self.alerts, *alerts),
            allowed=tuple(allowed),
        )
        played = self._run(experiment, accusers)
        for _ in range(AGAIN_MAX):
            if not _may_be_played_again(played):
                break
            self._tell(played, self.undecided)
            played = self._run(experiment, accusers)
        self.played.append(played)
        self._tell(played, self.finished)
        self._demand(played)
        return played.verdicts

    def _run(self, experiment: Experiment, accusers: Sequence[Accuser]) -> Played:
        stack = self.arena.stack(self.wanted)
        self._skip_without_abilities(stack, experiment.strikes)
        if not isinstance(stack, Paced):
            control = self._control(experiment, stack)
        else:
            control = self._control(paced(experiment.without_strikes(), stack.pace), stack)
            experiment = paced(experiment, stack.pace)
            budgets = calibrated(experiment.budgets, control)
            experiment = replace(experiment, budgets=budgets)
        file = self._next_file()
        history = run(experiment, stack, control, keep=file)
        verdicts = judge(history, accusers)
        number = len(self.played) + 1
        comparison = self.expected.compare(number, verdicts, experiment.allowed)
        comparison = comparison.accepting() if self.accept else comparison
        return Played(history, verdicts, file, stack, comparison, number)

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

    def keys_on(self, nodes: Sequence[str], each: int = 1) -> Mapping[str, Sequence[str]]:
        """So many routing keys that live on each of these nodes of one role, for a load."""
        stack = self.arena.stack(self.wanted)
        if isinstance(stack, Marking) and Stage.INTAKE not in stack.stages:
            self.skip(f"{stack.name} does not tell which worker takes a request: no key's is known")
        return keys_on(stack, nodes, each)

    def _next_file(self) -> Path:
        """Where the history goes while it happens: a test may play more than once."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        number = f".{len(self.files) + 1}" if self.files else ""
        self.files.append(self.file.with_name(f"{self.file.stem}{number}{self.file.suffix}"))
        return self.files[-1]

    def _skip_without_abilities(self, stack: Stack, strikes: Sequence[Strike]) -> None:
        for strike in strikes:
            if why := _missing(stack, strike):
                self.skip(f"{stack.name} {why}: no {strike.fault.name} on it")

    def _tell(self, played: Played, listener: Callable[[Played], object]) -> None:
        try:
            listener(played)
        finally:  # a report that fails must not leave a hurt stack to the next experiment
            if not _is_unhurt(played):
                self.arena.condemn()

    def _demand(self, played: Played) -> None:
        """Raises for what was not promised, or differs from the expected file."""
        __tracebackhide__ = True
        comparison = played.comparison
        if not comparison.red:
            if comparison.known:
                self.known_bug("; ".join(comparison.reasons))  # ends the test, unless it may not
            refused = comparison.known
        else:
            refused = comparison.refused
        if not refused and not comparison.differences:
            return
        text = failure_text(
            played.history, refused, played.file, self.reproduce, comparison.differences
        )
        if not comparison.differences and all(one.outcome in BROKEN for one in refused):
            raise NotProven(text)
        raise AssertionError(text)


def _may_be_played_again(played: Played) -> bool:
    """Whether nothing but a busy machine keeps us from a verdict, and the next try is the same one.

    No verdict that accuses, no NO_OP and no failure of ours is ever played again. A stack that has
    to be replaced has other addresses, and its routing keys live elsewhere.
    """
    refused = played.comparison.refused
    if not refused or played.comparison.differences:
        return False
    same = _is_unhurt(played) or not any(
        one.routing_key for one in played.history.lives.values() if not one.is_recovery
    )
    return all(one.of_machine for one in refused) and same


def _is_unhurt(played: Played) -> bool:
    """Whether the next experiment may have this stack.

    Where only the machine was too busy it is kept if it serves again and got its resources back.
    So is one that takes a minute to replace after a hang that nobody told of: then only its
    requests were hurt.
    """
    worse = [one for one in played.verdicts if one.outcome not in UNHURT]
    slow = isinstance(played.stack, Paced)
    if not all(one.of_machine or (slow and one.outcome is Outcome.SILENT) for one in worse):
        return False
    well = findings(played.history, (ItServesAgain(), ResourcesReturn())) if worse else ()
    return all(one.answer is Answer.HOLDS for one in well)


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
