"""How many clients' aborts are judged in a minute on one live stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from chaos.experiment import Experiment
from chaos.stage import Stage
from ci.benches.campaign import Campaign
from ci.benches.effort import Effort
from ci.benches.patience import KNOBS, TIMERS
from ci.benches.promise import Figure, Promise, at_least
from ci.benches.timeline import BUDGETS as TIMELINE
from ci.benches.timeline import Pair, Turn, timeline
from faults.client import Disconnect
from stack.plan import Plan, Topology

JUDGED: Final = "client aborts judged on one live 2p2d stack"
PROMISES = (Promise(JUDGED, at_least(1_000, "/min")),)
PLAN: Final = Plan(topology=Topology(2, 2), knobs=KNOBS, timers=TIMERS)
APART_S: Final = 0.045
# Ten times longer than it takes to strike, and no more: in the control nobody leaves, and whoever
# asks for 120 tokens 22 times a second asks the stack for more than two cores can do. Its control
# hung beside a neighbour, and then nothing could be said of anybody.
TOKENS: Final = 40
# Nothing here is timed to less than seconds: a load generator that is late by one proves as much.
BUDGETS: Final = replace(TIMELINE, settle_s=8.0, converge_s=9.0, lag_s=2.0)


def measure(effort: Effort) -> Iterator[Figure]:
    count = effort.pick(160, 40)

    def experiment(index: int, pairs: Sequence[Pair]) -> Experiment:
        return timeline(f"aborts {index}", [_leaves] * count, pairs, BUDGETS)

    campaign = Campaign(PLAN, experiment)
    campaign.play(effort.pick(8, 3))
    note = f"per experiment of {count} strikes, one after the other; {campaign.told}"
    yield Figure(JUDGED, tuple(campaign.rates), note)


def _leaves(_pair: Pair, victim: str) -> Turn:
    return Turn(Disconnect(victim), 0.01, APART_S, TOKENS, 0.0, Stage.INTAKE)
