"""A whole run of pytest, timed; its last line says how it went."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from ci.benches.effort import Effort, NotMeasured
from ci.benches.mortal import end, spawn
from ci.benches.promise import Figure

UNWIND_S: Final = 10.0


def whole_run(what: str, words: str, effort: Effort, bound_s: float) -> Figure:
    """The seconds of `pytest WORDS`. NotMeasured: too long for --quick, or for this bound."""
    if effort.quick:
        raise NotMeasured("too long for --quick")
    with tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder:
        log = Path(folder) / "log"
        took_s = _run(words, folder, log, bound_s)
        said = log.read_text(errors="replace").strip().splitlines()
    return Figure(what, (took_s,), said[-1].strip("= ") if said else "it said nothing")


def _run(words: str, folder: str, log: Path, bound_s: float) -> float:
    options = ["-q", "--report-dir", folder, "--alluredir", f"{folder}/allure"]
    began_s = time.monotonic()
    with log.open("w") as said:
        running = spawn(["-m", "pytest", *words.split(), *options], said.fileno())
        try:
            running.wait(bound_s)
        except subprocess.TimeoutExpired as late:
            raise NotMeasured(f"it did not end within {bound_s:.0f} s") from late
        finally:
            end(running, UNWIND_S)
    return time.monotonic() - began_s
