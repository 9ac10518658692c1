"""How soon the smallest embedded stack answers: at first, and again in the same process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from ci.benches.effort import Effort, NotMeasured
from ci.benches.measuring import ROOT
from ci.benches.promise import Figure, Promise, at_most

FIRST: Final = "embedded stack (router, 1 prefill, 1 decode) ready, first"
AGAIN: Final = "the same, again in the same run"
PROMISES = (Promise(FIRST, at_most(3, "s")), Promise(AGAIN, at_most(0.7, "s")))
PROCESS_S: Final = 60.0


def measure(effort: Effort) -> Iterator[Figure]:
    runs = [_starts(effort.pick(5, 3)) for _ in range(effort.pick(6, 2))]
    note = "guardian, Toxiproxy, zygote with torch, router, workers; imports of our own not counted"
    yield Figure(FIRST, tuple(run[0] for run in runs), note)
    yield Figure(AGAIN, tuple(one for run in runs for one in run[1:]))


def _starts(count: int) -> list[float]:
    command = [sys.executable, "-m", "ci.benches.stack_starts", str(count)]
    try:
        ended = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, cwd=ROOT, capture_output=True, text=True, timeout=PROCESS_S, check=True
        )
    except subprocess.CalledProcessError as failed:
        raise NotMeasured(f"a stack did not start: {failed.stderr[-200:]}") from failed
    except subprocess.TimeoutExpired as late:
        raise NotMeasured(f"{count} starts took longer than {PROCESS_S:.0f} s") from late
    return [float(line) for line in ended.stdout.split()]
