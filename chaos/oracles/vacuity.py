"""Did each strike bite, and did anybody live to feel it?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chaos.blow import Blow, blows
from chaos.charge import Charges
from chaos.clock import ns, seconds
from chaos.ending import Ending, ending
from chaos.event import Event
from chaos.history import History
from chaos.life import Life
from chaos.oracles.symptom import holds, unknown
from chaos.verdict import Finding


@dataclass(frozen=True, slots=True)
class EveryStrikeBites:
    """Guards every other finding: a run in which nothing was hurt proves nothing.

    A strike is vacuous when it never began, when neither of its proofs shows that it took effect,
    or when it took effect on a stack in which no request lived then or was sent later, or none but
    those that had hung already. All of these look like a stack that tolerates everything, and so
    does one that took so long to enter that every request had ended by then.
    """

    name: str = "vacuity"

    def judge(self, history: History) -> Finding:
        struck = blows(history)
        if not struck:
            return unknown(self.name, "no strike was planned")
        idle = {one.strike: why for one in struck if (why := toothless(history, one))}
        late = {one.strike: why for one in struck if (why := unsure(history, one))}
        if idle or late:
            told = [*(f"{strike} {why}" for strike, why in idle.items()), *late.values()]
            return unknown(self.name, "; ".join(told), (*idle, *late))
        return holds(self.name, f"all {len(struck)} strikes took effect")


def toothless(history: History, blow: Blow) -> str | None:
    """Why this strike proves nothing, or None."""
    if blow.began_ns is None:
        return f"never began: its trigger did not come ({blow.spec.trigger})"
    if not blow.bit:
        return "began, and nothing shows that it took effect"
    if not any(_witnesses(history, blow.began_ns)):
        return "took effect when every request had ended, or hung already"
    return None


def unsure(history: History, blow: Blow) -> str | None:
    """Why nobody can tell whether a request met this strike, or None: all that lived while it
    entered had ended when it was done, and may have ended before anything hurt. One that failed
    shows that something did, where this strike is charged with it."""
    if blow.struck is None or blow.began_ns is None:
        return None
    entered_ns, met = blow.struck.at_ns, False
    for one in _witnesses(history, blow.began_ns):
        if one.settled is None or one.settled.at_ns >= entered_ns:
            return None
        if _failed(one.settled) and _is_charged(history, blow, one, one.settled.at_ns):
            return None
        met = True
    took_s = seconds(entered_ns - blow.began_ns)
    why = f"{blow.strike} took {took_s:.2f} s to enter, and all had ended meanwhile without it"
    return why if met else None


def _witnesses(history: History, began_ns: int) -> Iterator[Life]:
    """The requests of the load that lived then, or were sent later, and had not hung already; the
    last ones first."""
    settle_ns = ns(history.specification.budgets.settle_s)
    for one in reversed(tuple(history.lives.values())):
        over = one.is_recovery or (one.settled is not None and one.settled.at_ns < began_ns)
        if not over and not _had_hung(one, began_ns, settle_ns):
            yield one


def _had_hung(life: Life, at_ns: int, settle_ns: int) -> bool:
    hung_ns = life.hung_ns(settle_ns) if life.sent.at_ns + settle_ns <= at_ns else None
    return hung_ns is not None and hung_ns <= at_ns


def _failed(settled: Event) -> bool:
    return ending(settled) not in (Ending.COMPLETE, Ending.CANCELLED)


def _is_charged(history: History, blow: Blow, life: Life, at_ns: int) -> bool:
    return blow.strike in Charges(history).of_request(life, at_ns).names
