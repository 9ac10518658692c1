"""A KV page that is damaged on its way shows in the reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ci.benches.core_experiment import core_experiment
from ci.benches.effort import Effort
from ci.benches.promise import Figure, Promise, at_most

UNNOTICED: Final = "damaged KV pages that left the reply as it was"
PROMISES = (Promise(UNNOTICED, at_most(0, "")),)
FULL, QUICK = 1_000, 100


def measure(effort: Effort) -> Iterator[Figure]:
    count = effort.pick(FULL, QUICK)
    told = core_experiment("damages", count, 500.0)
    unnoticed = float(sum(told["survived"].values()))
    note = f"of {count:,}: half flipped in one slot, half exchanged; {told['took_s']:.0f} s"
    yield Figure(UNNOTICED, (unnoticed,), note)
