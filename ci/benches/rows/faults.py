"""How many faults are judged in a minute on one live stack, over the default mix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chaos.experiment import Experiment
from ci.benches.campaign import Campaign
from ci.benches.effort import Effort
from ci.benches.mix import FAST, shuffled
from ci.benches.promise import Figure, Promise, at_least
from ci.benches.timeline import Pair, timeline

JUDGED: Final = "faults judged on one live 2p2d stack, default mix"
PROMISES = (Promise(JUDGED, at_least(200, "/min")),)


def measure(effort: Effort) -> Iterator[Figure]:
    order = [make for _ in range(effort.pick(2, 1)) for make in shuffled(0)]

    def experiment(index: int, pairs: Sequence[Pair]) -> Experiment:
        """The same order each time: its control is played once."""
        return timeline(f"mix {index}", order, pairs)

    campaign = Campaign(FAST, experiment)
    campaign.play(effort.pick(7, 3))
    note = f"per experiment of {len(order)} strikes, one after the other; {campaign.told}"
    yield Figure(JUDGED, tuple(campaign.rates), note)
