"""How long judging takes, with the history in memory; and reading one from disk, apart."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from chaos.history import History
from chaos.history_file import read, write
from chaos.judge import judge
from chaos.verdict import Outcome
from ci.benches.effort import Effort, NotMeasured
from ci.benches.promise import Figure, Promise, at_most
from ci.benches.synthetic_history import STRIKES, again, synthetic

MILLION: Final = "judging 1,000,000 events"
RATIO: Final = "judging 1,000,000 events, compared with 100,000"
READING: Final = "reading 100,000 events from disk"
PROMISES = (
    Promise(MILLION, at_most(5, "s")),
    Promise(RATIO, at_most(12, "times"), paired=True),
    Promise(READING, unit="s"),
)
LARGE, SMALL = 1_000_000, 100_000


def measure(effort: Effort) -> Iterator[Figure]:
    small = synthetic(SMALL)
    yield Figure(READING, tuple(_reading_s(small) for _ in range(effort.pick(5, 2))))
    large = synthetic(LARGE)
    pairs = [(_judging(small), _judging(large)) for _ in range(effort.pick(30, 6))]
    cpu_s = median(large.cpu_s for _, large in pairs)
    note = f"in the run, and as many again in its control; {STRIKES} strikes; CPU {cpu_s:.2f} s"
    yield Figure(MILLION, tuple(large.wall_s for _, large in pairs), note)
    ratios = tuple(large.cpu_s / small.cpu_s for small, large in pairs)
    yield Figure(RATIO, ratios, "of CPU time, which neighbours on the machine disturb less")


@dataclass(frozen=True, slots=True)
class Took:
    wall_s: float
    cpu_s: float


def _judging(history: History) -> Took:
    fresh = again(history)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    verdicts = judge(fresh)
    took = Took(time.perf_counter() - wall_s, time.process_time() - cpu_s)
    odd = [one for one in verdicts if one.outcome is not Outcome.TOLERATED]
    if odd:
        raise NotMeasured(f"the synthetic history is judged {odd[0]}: {odd[0].reason}")
    return took


def _reading_s(history: History) -> float:
    with tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder:
        file = Path(folder) / "history.jsonl"
        write(file, history)
        began_s = time.perf_counter()
        read(file)
        return time.perf_counter() - began_s
