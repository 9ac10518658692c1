"""What may be concluded: a finding by one oracle, a verdict on one strike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, IntEnum


class Answer(IntEnum):
    """An oracle's three answers, ordered by how much they should worry us."""

    HOLDS = 0
    UNKNOWN = 1  # not really tested, cut off, or the oracle failed
    VIOLATED = 2


@dataclass(frozen=True, slots=True)
class Finding:
    oracle: str
    answer: Answer
    reason: str  # one sentence that a stranger can read
    evidence: tuple[int, ...] = ()  # the seq of each event that proves it
    by: str | None = None  # the guard or the alert, where there is one
    after_s: float | None = None
    about: tuple[str, ...] = ()  # the requests, nodes or resources concerned


class Outcome(Enum):
    """A strike's outcome. The order is from best to worst; the last two accuse nobody."""

    TOLERATED = "TOLERATED"
    CAUGHT = "CAUGHT"
    SURFACED = "SURFACED"
    FALSE_ALARM = "FALSE_ALARM"
    LEAKED = "LEAKED"
    MISROUTED = "MISROUTED"
    NOT_RECOVERED = "NOT_RECOVERED"
    WRONG = "WRONG"
    SILENT = "SILENT"
    NO_OP = "NO_OP"
    UNKNOWN = "UNKNOWN"


BROKEN = frozenset({Outcome.NO_OP, Outcome.UNKNOWN})
# Verdicts that are about no strike: of what none of them can have done, and of the control.
FAULT_FREE = "fault-free"
CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one strike; of what no strike can have done ("fault-free"); or of the control,
    where that is no reference."""

    strike: str
    outcome: Outcome
    reason: str
    by: str | None = None  # the guard that caught ("a+b" when two did), the alert that surfaced
    after_s: float | None = None
    evidence: tuple[int, ...] = ()
    stage: str | None = None  # where the worst affected request stood
    about: tuple[str, ...] = ()  # the affected requests
    together: tuple[str, ...] = ()  # other strikes that the same is charged to
    of_machine: bool = False  # UNKNOWN, and by nothing but a busy machine: it may be played again
    unpromised: bool = False  # of no strike, where strikes were planned: no suite allows it
    unnamed: int = 0  # affected requests that only their own honest error told of, and no guard

    def __str__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        after = f" in {self.after_s:.2f} s" if self.after_s is not None else ""
        return f"{self.outcome.value}{by}{after}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """One verdict that a specification accepts. `by` None accepts any guard or alert.

    Several names, joined by "+" as in a verdict, accept each of them and all of them together:
    where requests are affected at different moments, different guards may end them.
    """

    outcome: Outcome
    by: str | None = None

    def __post_init__(self) -> None:
        if self.outcome in BROKEN:
            raise ValueError(f"{self.outcome.value} proves nothing: it can never be allowed")

    def accepts(self, verdict: Verdict) -> bool:
        if self.outcome is not verdict.outcome:
            return False
        return self.by is None or _names(verdict.by) <= _names(self.by)

    def __str__(self) -> str:
        return f"{self.outcome.value} by {self.by}" if self.by else self.outcome.value


TOLERATED = Allowed(Outcome.TOLERATED)
CAUGHT = Allowed(Outcome.CAUGHT)  # by whichever guard, in its budget
SURFACED = Allowed(Outcome.SURFACED)


def caught_by(*guards: str) -> Allowed:
    return Allowed(Outcome.CAUGHT, "+".join(guards))


def surfaced_by(alert: str) -> Allowed:
    return Allowed(Outcome.SURFACED, alert)


def _names(by: str | None) -> frozenset[str]:
    return frozenset((by or "").split("+"))


def accepted(verdict: Verdict, allowed: Iterable[Allowed]) -> bool:
    """True when the verdict is allowed. Where several guards caught, each must be.

    What a suite allows is for its strikes: a request that failed without one, and a control that
    is no reference, are allowed by nobody.
    """
    if verdict.unpromised:
        return verdict.outcome is Outcome.TOLERATED
    choices = tuple(allowed)
    parts = [replace(verdict, by=by) for by in verdict.by.split("+")] if verdict.by else [verdict]
    return all(any(one.accepts(part) for one in choices) for part in parts)


class NotProven(Exception):
    """The experiment could not decide: NO_OP or UNKNOWN. Allure shows it as *broken*."""
