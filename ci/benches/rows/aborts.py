"""How many clients' aborts are judged in a minute on one live stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chaos.experiment import Experiment
from chaos.stage import Stage
from ci.benches.campaign import Campaign
from ci.benches.effort import Effort
from ci.benches.mix import FAST
from ci.benches.promise import Figure, Promise, at_least
from ci.benches.timeline import Pair, Turn, timeline
from faults.client import Disconnect

JUDGED: Final = "client aborts judged on one live 2p2d stack"
PROMISES = (Promise(JUDGED, at_least(600, "/min")),)
COUNT: Final = 100
APART_S: Final = 0.075
TOKENS: Final = 200  # longer than it takes to strike, also on a busy machine
LEAD_S: Final = 0.1


def measure(effort: Effort) -> Iterator[Figure]:
    campaign = Campaign(FAST, _experiment)
    campaign.play(effort.pick(8, 2))
    note = f"per experiment of {COUNT} strikes, one after the other; {campaign.told}"
    yield Figure(JUDGED, tuple(campaign.rates), note)


def _leaves(_pair: Pair, victim: str) -> Turn:
    return Turn(Disconnect(victim), 0.01, APART_S, TOKENS, 0.0, Stage.INTAKE)


def _experiment(index: int, pairs: Sequence[Pair]) -> Experiment:
    return timeline(f"aborts {index}", [_leaves] * COUNT, pairs, LEAD_S)
