"""Owns who is charged with what happened, and from when on a request's time counts.

What several strikes may have done is charged to all of them, together. A strike may have done what
it could touch, from the moment at which it began to hurt, and it may leave something behind when it
is over. What none of them can have done is nobody's: the stack failed by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.blow import Blow, blows
from chaos.clock import ns
from chaos.history import History
from chaos.life import Life
from chaos.route import route


@dataclass(frozen=True, slots=True)
class Charge:
    strikes: tuple[Blow, ...]  # empty: nobody's
    since_ns: int  # sent, or when the first of them began to enter, if that came later
    surely_ns: int = 0  # one of them had entered: from here on it hurt, and perhaps not before
    innocent: bool = False  # none of them could touch it: it was hurt beside their targets

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.strike for one in self.strikes)


class Charges:
    """Who is charged with what, in one history."""

    def __init__(self, history: History) -> None:
        self._history = history
        budgets = history.specification.budgets
        self._settle_ns = ns(budgets.settle_s)
        self._service_ns = ns(budgets.service_s)
        known = [(one.began_ns, one) for one in blows(history) if one.began_ns is not None]
        self._began = sorted(known, key=lambda pair: pair[0])

    def of_run(self) -> tuple[Blow, ...]:
        """What shows only in the end may be the work of every strike that began."""
        return tuple(one for _, one in self._began)

    def of_time(self, begin_ns: int, end_ns: int) -> tuple[Blow, ...]:
        """Whoever hurt between these moments; if nobody did, all that had hurt before."""
        begun = self._begun(end_ns)
        return tuple(one for one in begun if one.end_ns >= begin_ns) or begun

    def of_node(self, node: str, begin_ns: int, end_ns: int) -> tuple[Blow, ...]:
        """What happened to a node: the strikes on it that hurt then. Where there is none, it may be
        what one on it (or one of which nobody tells what it hit) left behind, or what one beside it
        does: they share the charge."""
        begun = self._begun(end_ns)
        active = [one for one in begun if one.end_ns >= begin_ns]
        on_it = tuple(one for one in active if one.touches(node))
        left = [one for one in begun if one.touches(node) or not one.targets]
        return on_it or tuple(one for one in begun if one in active or one in left)

    def of_request(self, life: Life, end_ns: int) -> Charge:
        """Of the strikes that began before it ended, and before it had hung: those that could touch
        it and hurt while it lived. One that came when it was late already shares the charge with
        what strikes that were over then had left behind. Where none could touch it, it is charged
        to those that hurt beside it, whose clocks do not run for it."""
        sent_ns = life.sent.at_ns
        begun = self._blameable(life, self._begun(end_ns))
        if not begun:
            return Charge((), sent_ns)
        way = route(life)
        could = [one for one in begun if one.may_touch(life, way)]
        mine = self._mine(life, could)
        if not mine:
            beside = tuple(one for one in begun if one.end_ns >= sent_ns)
            return Charge(beside, sent_ns, innocent=bool(beside))
        return Charge(mine, max(sent_ns, _first_ns(mine)), _entered_ns(mine))

    def _begun(self, end_ns: int) -> tuple[Blow, ...]:
        return tuple(one for began_ns, one in self._began if began_ns <= end_ns)

    def _blameable(self, life: Life, begun: tuple[Blow, ...]) -> tuple[Blow, ...]:
        """Without those that came when it had hung already."""
        if not begun or _last_ns(begun) < life.sent.at_ns + self._settle_ns:
            return begun
        hung_ns = life.hung_ns(self._settle_ns)
        if hung_ns is None:
            return begun
        return tuple(one for one in begun if one.began_ns is None or one.began_ns < hung_ns)

    def _mine(self, life: Life, could: Sequence[Blow]) -> tuple[Blow, ...]:
        sent_ns = life.sent.at_ns
        active = [one for one in could if one.end_ns >= sent_ns]
        if active and _first_ns(active) <= self._late_ns(life):
            return tuple(active)
        return tuple(could)

    def _late_ns(self, life: Life) -> int:
        """When it was later than in the control by more than is tolerated."""
        same = self._history.reference(life)
        usual_ns = same.settled.at_ns - same.sent.at_ns if same and same.settled else 0
        return life.sent.at_ns + usual_ns + self._service_ns


def _first_ns(some: Sequence[Blow]) -> int:
    return min(one.began_ns for one in some if one.began_ns is not None)


def _entered_ns(some: Sequence[Blow]) -> int:
    return min(one.struck.at_ns for one in some if one.struck is not None)


def _last_ns(some: Sequence[Blow]) -> int:
    return max(one.began_ns for one in some if one.began_ns is not None)
