"""Requests in random batches get the tokens that each of them gets alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ci.benches.core_experiment import core_experiment
from ci.benches.effort import Effort, NotMeasured
from ci.benches.promise import Figure, Promise, at_most

DIFFERENT: Final = "replies in mixed batches that differ from alone"
PROMISES = (Promise(DIFFERENT, at_most(0, "")),)
FULL, QUICK = 10_000, 300


def measure(effort: Effort) -> Iterator[Figure]:
    count = effort.pick(FULL, QUICK)
    told = core_experiment("mixed_batches", count, 1100.0)
    pairs: list[tuple[list[int], list[int]]] = list(
        zip(told["alone"], told["together"], strict=True)
    )
    if len(pairs) != count:
        raise NotMeasured(f"the core's process told {len(pairs)} replies of {count}")
    different = sum(alone != together for alone, together in pairs)
    note = f"of {count:,}; batches of 1 to 32, a third sampled; {told['took_s']:.0f} s"
    yield Figure(DIFFERENT, (float(different),), note)
