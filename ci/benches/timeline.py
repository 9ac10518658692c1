"""Strikes one after the other in one experiment, each with a victim of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from chaos.contracts import Fault, Request
from chaos.experiment import At, Entering, Experiment, Strike
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.workloads.prompt import prompt
from stack.alerts import ALERTS

PROMPT_BYTES = 160
LEAD_S = 0.1  # before the first turn
# All strikes are one experiment: a trigger's own bound counts from the experiment's beginning.
BUDGETS = Budgets(
    service_s=0.6, delay_s=0.6, settle_s=2.0, detect_s=2.0, trigger_s=120.0, converge_s=4.0
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two workers, and a routing key whose requests meet there."""

    prefill: str
    decode: str
    key: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One strike. Its victim is sent after it, or it waits until the victim enters a stage."""

    fault: Fault
    for_s: float
    room_s: float  # then the next turn begins
    tokens: int = 8
    due_s: float = 0.05  # of the victim, after the turn began
    entering: Stage | None = None


Make = Callable[[Pair, str], Turn]  # the pair to hurt, and the victim's id


@dataclass(frozen=True, slots=True)
class Victims:
    """Implements chaos.contracts.Workload: (id, due, tokens, routing key) of each request."""

    name: str
    asks: tuple[tuple[str, float, int, str], ...]

    def requests(self, rng: Random) -> Sequence[Request]:
        return [
            Request(name, due_s, prompt(rng, PROMPT_BYTES), tokens, routing_key=key)
            for name, due_s, tokens, key in self.asks
        ]


def timeline(
    name: str, makes: Sequence[Make], pairs: Sequence[Pair], budgets: Budgets = BUDGETS
) -> Experiment:
    """All turns, each in the room that the one before left; pairs take turns, too."""
    begin_s = LEAD_S
    asks: list[tuple[str, float, int, str]] = []
    strikes: list[Strike] = []
    for index, make in enumerate(makes):
        pair, victim = pairs[index % len(pairs)], f"v{index}"
        turn = make(pair, victim)
        asks.append((victim, begin_s + turn.due_s, turn.tokens, pair.key))
        on = At(begin_s) if turn.entering is None else Entering(victim, turn.entering)
        strikes.append(Strike(turn.fault, on, turn.for_s))
        begin_s += turn.room_s
    load = Victims(f"a victim for each of {len(makes)} strikes", tuple(asks))
    return Experiment(name, 0, load, tuple(strikes), budgets, ALERTS)
