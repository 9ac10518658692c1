"""How long judging takes, with the history in memory; and reading one from disk, apart."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
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
READING: Final = "reading 1,000,000 events from disk"
PROMISES = (
    Promise(MILLION, at_most(3, "s")),
    Promise(RATIO, at_most(11, "times"), paired=True),
    Promise(READING, at_most(10, "s")),
)
LARGE, SMALL = 1_000_000, 100_000


def measure(effort: Effort) -> Iterator[Figure]:
    small, large = synthetic(SMALL), synthetic(LARGE)
    pairs = [(_judging(small), _judging(large)) for _ in range(effort.pick(30, 3))]
    yield Figure(MILLION, tuple(one.wall_s for _, one in pairs), _note([one for _, one in pairs]))
    ratios = tuple(large.cpu_s / small.cpu_s for small, large in pairs)
    yield Figure(RATIO, ratios, "of CPU time, which neighbours on the machine disturb less")
    reads = _reading(large, effort.pick(3, 1))
    yield Figure(READING, tuple(one.wall_s for one in reads), _note(reads))


@dataclass(frozen=True, slots=True)
class Took:
    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Clock:
    wall_s: float
    cpu_s: float

    def took(self) -> Took:
        return Took(time.perf_counter() - self.wall_s, time.process_time() - self.cpu_s)


def _now() -> Clock:
    return Clock(time.perf_counter(), time.process_time())


def _note(times: Sequence[Took]) -> str:
    cpu_s = median(one.cpu_s for one in times)
    return f"and as many again in its control; {STRIKES} strikes; CPU {cpu_s:.2f} s"


def _judging(history: History) -> Took:
    fresh, began = again(history), _now()
    verdicts = judge(fresh)
    took = began.took()
    odd = [one for one in verdicts if one.outcome is not Outcome.TOLERATED]
    if odd:
        raise NotMeasured(f"the synthetic history is judged {odd[0]}: {odd[0].reason}")
    return took


def _reading(history: History, times: int) -> list[Took]:
    with tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder:
        file = Path(folder) / "history.jsonl"
        write(file, history)
        return [_reading_once(file) for _ in range(times)]


def _reading_once(file: Path) -> Took:
    began = _now()
    read(file)
    return began.took()
