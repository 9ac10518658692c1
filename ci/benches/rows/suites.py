"""How long the whole default `pytest suites/` takes."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ci.benches.effort import Effort, NotMeasured
from ci.benches.mortal import end, spawn
from ci.benches.promise import Figure, Promise, at_most

WHOLE: Final = "whole default `pytest suites/`"
PROMISES = (Promise(WHOLE, at_most(300, "s")),)
BOUND_S: Final = 1100.0
UNWIND_S: Final = 10.0


def measure(effort: Effort) -> Iterator[Figure]:
    if effort.quick:
        raise NotMeasured("too long for --quick")
    with tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder:
        log = Path(folder) / "log"
        took_s = _run(folder, log)
        said = log.read_text(errors="replace").strip().splitlines()
    yield Figure(WHOLE, (took_s,), said[-1].strip("= ") if said else "it said nothing")


def _run(folder: str, log: Path) -> float:
    words = ["suites/", "-q", "--report-dir", folder, "--alluredir", f"{folder}/allure"]
    began_s = time.monotonic()
    with log.open("w") as said:
        running = spawn(["-m", "pytest", *words], said.fileno())
        try:
            running.wait(BOUND_S)
        except subprocess.TimeoutExpired as late:
            raise NotMeasured(f"it did not end within {BOUND_S:.0f} s") from late
        finally:
            end(running, UNWIND_S)
    return time.monotonic() - began_s
