"""How long judging takes, with the history in memory; and reading one from disk, apart."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
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
    pairs = [(_judging_s(small), _judging_s(large)) for _ in range(effort.pick(30, 6))]
    note = f"in the run, and as many again in its control; {STRIKES} strikes"
    yield Figure(MILLION, tuple(large_s for _, large_s in pairs), note)
    yield Figure(RATIO, tuple(large_s / small_s for small_s, large_s in pairs))


def _judging_s(history: History) -> float:
    fresh = again(history)
    began_s = time.perf_counter()
    verdicts = judge(fresh)
    took_s = time.perf_counter() - began_s
    odd = [one for one in verdicts if one.outcome is not Outcome.TOLERATED]
    if odd:
        raise NotMeasured(f"the synthetic history is judged {odd[0]}: {odd[0].reason}")
    return took_s


def _reading_s(history: History) -> float:
    with tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder:
        file = Path(folder) / "history.jsonl"
        write(file, history)
        began_s = time.perf_counter()
        read(file)
        return time.perf_counter() - began_s
