"""A whole run of tests/ is shared out to two workers: more than half of its time it only waits.

One file stays with one worker, since its tests share what they started. `-n 0` plays one after the
other; so does a part of the tests, and whoever wants to see or to stop them (-s, --pdb).
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from ci import skips

HERE = Path(__file__).parent
WORKERS = 2
LONGEST = (  # seconds on 2 cores: more than twenty each
    "suites/test_negative_controls.py",
    "suites/test_knob_without_watchdog.py",
    "kernels/test_judged.py",
    "kernels/test_prove.py",
    "chaos/second_opinion/test_second_opinion.py",
    "suites/test_two_workers.py",
)


@pytest.hookimpl(tryfirst=True)  # before xdist looks at its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if not is_worker and is_whole(config) and len(os.sched_getaffinity(0)) >= WORKERS:
        config.option.numprocesses = WORKERS
        config.option.dist = "loadfile"
    config.option.loadscopereorder = False  # our order, below, and not the number of tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest first, so that no worker is left alone with one of them."""
    items.sort(key=lambda item: first_come_the_longest(item.path))


def first_come_the_longest(path: Path) -> int:
    places = [HERE / one for one in LONGEST]
    return places.index(path) if path in places else len(places)


def is_whole(config: pytest.Config) -> bool:
    """Everything is to be played, and nobody said how."""
    told = config.option
    here = [Path(one).resolve() for one in config.args] == [HERE]
    narrowed = told.keyword or told.markexpr or told.deselect or told.collectonly
    watched = told.usepdb or told.capture == "no"
    shared = getattr(told, "numprocesses", 0) is not None or told.dist != "no"  # -p no:xdist: 0
    return here and not (narrowed or watched or shared)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What this machine lacks, and what was not proven for that."""
    skipped = cast("list[pytest.TestReport]", terminalreporter.getreports("skipped"))
    told = [one.longrepr for one in skipped]  # where, which line, why
    reasons = Counter(str(one[2]) for one in told if isinstance(one, tuple))
    if reasons:
        terminalreporter.section("skipped, and what that leaves unproven")
        terminalreporter.write_line("\n".join(skips.unproven(reasons)))
