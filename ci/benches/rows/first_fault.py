"""How long a user waits for the first verdict: from `pytest suites/` to a judged strike."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ci.benches.asking import until
from ci.benches.effort import Effort, NotMeasured
from ci.benches.mortal import end, spawn
from ci.benches.promise import Figure, Promise, at_most

FAULT: Final = "first judged fault after `pytest suites/`"
PROMISES = (Promise(FAULT, at_most(5, "s")),)
RUN_S: Final = 90.0
UNWIND_S: Final = 10.0
TAIL_BYTES: Final = 40


def measure(effort: Effort) -> Iterator[Figure]:
    runs = [_run() for _ in range(effort.pick(3, 1))]
    note = "its history's end line is written; a new pytest process each time, stopped then"
    yield Figure(FAULT, tuple(runs), note)


def _run() -> float:
    """Seconds to the first ended history with a strike."""
    with tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder:
        report = Path(folder)
        words = ["suites/", "-q", "--report-dir", folder, "--alluredir", str(report / "allure")]
        began_s = time.monotonic()
        with (report / "log").open("w") as log:
            running = spawn(["-m", "pytest", *words], log.fileno())
            try:
                return _wait(running, report) - began_s
            finally:
                end(running, UNWIND_S)


def _wait(running: subprocess.Popen[bytes], report: Path) -> float:
    def has_come() -> bool:
        if running.poll() is not None:
            raise NotMeasured(f"pytest ended with {running.returncode}: {_last_line(report)}")
        return any(
            _ended(one) and _has_strikes(one) for one in (report / "histories").glob("*.jsonl")
        )

    if not until(has_come, RUN_S):
        raise NotMeasured(f"no such history ended within {RUN_S:.0f} s: {_last_line(report)}")
    return time.monotonic()


def _ended(history: Path) -> bool:
    with history.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        return b'{"end":' in file.read()


def _has_strikes(history: Path) -> bool:
    with history.open() as file:
        return bool(json.loads(file.readline())["specification"]["strikes"])


def _last_line(report: Path) -> str:
    words = (report / "log").read_text(errors="replace").strip().splitlines()
    return words[-1] if words else "it said nothing"
