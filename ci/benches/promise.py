"""A line of the budget table, before and after measuring; and what may be concluded of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ci.benches.interval import Interval, median_interval, middle


class Answer(Enum):
    HOLDS = "holds"
    MISSES = "misses"
    UNDECIDED = "undecided"  # the interval of a comparison lies on both sides of the budget
    NO_BUDGET = "no budget"  # reported for its own sake
    NOT_MEASURED = "not measured"


class Sense(Enum):
    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Budget:
    sense: Sense
    limit: float
    unit: str

    def keeps(self, value: float) -> bool:
        below = self.sense is Sense.AT_MOST
        return value <= self.limit if below else value >= self.limit

    def __str__(self) -> str:
        return f"{self.sense.value} {self.limit:,g} {self.unit}".rstrip()


def at_most(limit: float, unit: str) -> Budget:
    return Budget(Sense.AT_MOST, limit, unit)


def at_least(limit: float, unit: str) -> Budget:
    return Budget(Sense.AT_LEAST, limit, unit)


@dataclass(frozen=True, slots=True)
class Promise:
    """What one line of the table is about. `paired`: each value compares an A with its own B."""

    what: str
    budget: Budget | None = None
    paired: bool = False
    unit: str = ""  # where there is no budget to name it


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured for one promise; no values: why not, in `note`."""

    what: str
    values: tuple[float, ...] = ()
    note: str = ""

    @property
    def interval(self) -> Interval | None:
        return median_interval(self.values)


def answer(promise: Promise, figure: Figure) -> Answer:
    """A comparison holds when its whole interval does; an absolute figure when its median does."""
    if not figure.values:
        return Answer.NOT_MEASURED
    if promise.budget is None:
        return Answer.NO_BUDGET
    if not promise.paired:
        return Answer.HOLDS if promise.budget.keeps(middle(figure.values)) else Answer.MISSES
    interval = figure.interval
    if interval is None:
        return Answer.UNDECIDED
    ends = {promise.budget.keeps(interval.low), promise.budget.keeps(interval.high)}
    if len(ends) > 1:
        return Answer.UNDECIDED
    return Answer.HOLDS if ends == {True} else Answer.MISSES
