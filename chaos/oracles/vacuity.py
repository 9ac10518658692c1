"""Did each strike bite, and did anybody live to feel it?"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.blow import Blow, blows
from chaos.history import History
from chaos.oracles.symptom import holds, unknown
from chaos.verdict import Finding


@dataclass(frozen=True, slots=True)
class EveryStrikeBites:
    """Guards every other finding: a run in which nothing was hurt proves nothing.

    A strike is vacuous when it never began, when neither of its proofs shows that it took effect,
    or when it took effect on a stack in which no request lived then or was sent later. All three
    look like a stack that tolerates everything.
    """

    name: str = "vacuity"

    def judge(self, history: History) -> Finding:
        struck = blows(history)
        if not struck:
            return unknown(self.name, "no strike was planned")
        idle = {one.strike: why for one in struck if (why := toothless(history, one))}
        if idle:
            told = "; ".join(f"{strike} {why}" for strike, why in idle.items())
            return unknown(self.name, told, tuple(idle))
        return holds(self.name, f"all {len(struck)} strikes took effect")


def toothless(history: History, blow: Blow) -> str | None:
    """Why this strike proves nothing, or None."""
    if blow.struck is None:
        return f"never began: its trigger did not come ({blow.spec.trigger})"
    if not blow.bit:
        return "began, and nothing shows that it took effect"
    if not any(_met(history, request_id, blow) for request_id in history.lives):
        return "took effect when every request had ended"
    return None


def _met(history: History, request_id: str, blow: Blow) -> bool:
    life = history.lives[request_id]
    return not life.is_recovery and (life.settled is None or life.settled.at_ns >= blow.began_ns)
