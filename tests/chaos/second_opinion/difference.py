"""Where the judge and the model disagree about a history."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.history import History
from chaos.judge import judge
from chaos.verdict import Outcome, Verdict
from tests.chaos.second_opinion.charge import REPLY
from tests.chaos.second_opinion.draft import GUARDS
from tests.chaos.second_opinion.opinion import Opinion, opinions

NAMED = (Outcome.CAUGHT, Outcome.SURFACED, Outcome.FALSE_ALARM)  # the outcomes that name somebody


@dataclass(frozen=True, slots=True)
class Answer:
    """What both can say; wording is not compared."""

    outcome: str
    by: tuple[str, ...] = ()
    together: tuple[str, ...] = ()

    def __str__(self) -> str:
        by = f" by {'+'.join(self.by)}" if self.by else ""
        together = f" together with {', '.join(self.together)}" if self.together else ""
        return f"{self.outcome}{by}{together}"


@dataclass(frozen=True, slots=True)
class Difference:
    strike: str
    model: Answer
    judge: Answer

    @property
    def kind(self) -> tuple[str, str, bool]:
        """Two histories that differ in the same kind are likely one question."""
        return self.model.outcome, self.judge.outcome, self.strike == "fault-free"

    def __str__(self) -> str:
        return f"{self.strike}: the model says {self.model}; the judge says {self.judge}"


NOTHING = Answer("nothing")


def differences(history: History) -> list[Difference]:
    model = {each.strike: _of_model(each) for each in opinions(history)}
    told = {each.strike: _of_judge(each, history) for each in judge(history)}
    names = [*model, *(name for name in told if name not in model)]
    pairs = [(name, model.get(name, NOTHING), told.get(name, NOTHING)) for name in names]
    return [Difference(*each) for each in pairs if each[1] != each[2]]


def _of_model(one: Opinion) -> Answer:
    by = one.by if one.outcome in NAMED else ()
    return Answer(one.outcome.value, by, one.together)


def _of_judge(one: Verdict, history: History) -> Answer:
    """Whoever is neither a guard nor an alert nor a page of this history is the reply."""
    if one.outcome not in NAMED or one.by is None:
        return Answer(one.outcome.value, (), tuple(sorted(one.together)))
    known = {*GUARDS, *(alert.name for alert in history.specification.alerts)}
    parts = {part if part in known or "/" in part else REPLY for part in one.by.split("+")}
    return Answer(one.outcome.value, tuple(sorted(parts)), tuple(sorted(one.together)))
