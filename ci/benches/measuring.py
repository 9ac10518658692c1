"""One row measured in a child process, so that no row can hang the table or leave anything."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO, Final

from ci.benches.catalogue import Row
from ci.benches.child import figure
from ci.benches.effort import Effort
from ci.benches.machine import Load, load_now
from ci.benches.mortal import ROOT, end, spawn
from ci.benches.promise import Figure, Promise

UNWIND_S: Final = 12.0  # a child that was interrupted takes its stacks down in this time
LAST_WORDS: Final = 160


@dataclass(frozen=True, slots=True)
class Measured:
    """A row's lines, each promise with its figure, in the promises' order."""

    row: str
    lines: tuple[tuple[Promise, Figure], ...]
    load: Load


def measured(row: Row, effort: Effort, bound_s: float) -> Measured:
    """Always returns: what the child did not tell within the bound was not measured."""
    promises, begin = row.module.PROMISES, load_now()
    words = [row.name, json.dumps(asdict(effort))]
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as complaints:
        ended = _run(["-m", "ci.benches.child", *words], bound_s, told, complaints)
        told.seek(0)
        figures = [figure(line) for line in told if line.endswith("\n")]
        why = _reason(ended, bound_s, complaints)
    return Measured(row.name, _joined(promises, figures, why), Load(begin, load_now()))


def left_out(row: Row, why: str) -> Measured:
    load = load_now()
    return Measured(row.name, _joined(row.module.PROMISES, [], why), Load(load, load))


def _joined(
    promises: Sequence[Promise], figures: Sequence[Figure], why: str
) -> tuple[tuple[Promise, Figure], ...]:
    by_what = {one.what: one for one in figures}
    return tuple((one, by_what.get(one.what, Figure(one.what, (), why))) for one in promises)


def _run(words: Sequence[str], bound_s: float, told: IO[str], complaints: IO[str]) -> int | None:
    """The exit code; None when the bound was over first."""
    child = spawn(words, told.fileno(), complaints.fileno(), ROOT, signal.SIGINT)
    try:
        return child.wait(bound_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end(child, UNWIND_S)


def _reason(ended: int | None, bound_s: float, complaints: IO[str]) -> str:
    complaints.seek(0)
    words = complaints.read().strip().splitlines()
    last = f": {words[-1][-LAST_WORDS:]}" if words else ""
    if ended is None:
        return f"it did not end within {bound_s:.0f} s"
    return f"exit {ended}{last}"
