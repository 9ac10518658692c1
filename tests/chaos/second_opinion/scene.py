"""All that the judgement of one request, or of what came after all of them, needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.clock import ns
from chaos.event import Event, Kind
from chaos.specification import Budgets, Specification
from tests.chaos.second_opinion.asked import Asked, asked, role_of
from tests.chaos.second_opinion.reply import asked_the_same
from tests.chaos.second_opinion.window import Window

READ = (Kind.READING, Kind.UNREADABLE)
TOLD_WITHIN_S = 0.25  # a lag is told so soon after it


@dataclass(frozen=True, slots=True)
class Scene:
    events: Sequence[Event]
    specification: Specification
    strikes: Sequence[Window]
    control: Sequence[Event] | None

    @property
    def budgets(self) -> Budgets:
        return self.specification.budgets

    @property
    def watched_ns(self) -> int:
        """Until when a request was waited for."""
        ends = [e.at_ns for e in self.events if e.kind is Kind.PHASE and e.about == "recover"]
        return ends[0] if ends else self.events[-1].at_ns

    def is_alone(self, node: str) -> bool:
        """Nothing is read of another node of its role, and none such has told of a request."""
        both = [*self.events, *(self.control or ())]
        told = {e.actor for e in both if e.kind is Kind.STAGE}
        read = {e.about.partition("/")[0] for e in both if e.kind in READ}
        return {e for e in told | read if role_of(e) == role_of(node)} <= {node}

    def usual(self, one: Asked) -> Asked | None:
        """The same request, or the same round, in the control."""
        own = asked(self.control or (), recovery=one.name.startswith("recover/"))
        named = {each.name: each for each in own}
        return named.get(one.name) or named.get(one.round)

    def right(self, one: Asked) -> Asked | None:
        """What it should have got; None where the two cannot be compared."""
        usual = self.usual(one)
        if usual is None or not self.specification.deterministic or not asked_the_same(one, usual):
            return None
        return None if self._asked_otherwise(one) else usual

    def lag_between(self, start_ns: int, until_ns: int) -> bool:
        """Our own loop lagged meanwhile: silence says nothing."""
        for event in self.events:
            lag_s = event.detail.get("lag_s") if event.kind is Kind.LAG else None
            if not isinstance(lag_s, int | float) or lag_s <= self.budgets.lag_s:
                continue
            over_ns = event.at_ns + ns(self.budgets.lag_s)
            if start_ns <= over_ns and event.at_ns - ns(lag_s + TOLD_WITHIN_S) <= until_ns:
                return True
        return False

    def _asked_otherwise(self, one: Asked) -> bool:
        """Where prompts are not told: an agent may have gone on with another reply."""
        if one.sent.detail.get("prompt_sha256") is not None:
            return False
        for other in asked(self.events):
            usual, end = self.usual(other), other.end
            if usual is None or end is None or end.kind is not Kind.FINISHED:
                continue
            if end.at_ns <= one.sent.at_ns and other.text != usual.text:
                return True
        return False
