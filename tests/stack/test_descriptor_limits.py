"""A limit on a process's descriptors: felt at once, by nobody else, and taken back."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.descriptor_limits import DescriptorLimits
from stack.guardian import Guardian
from stack.process_table import ProcessId
from tests.stack.script import Script
from tests.stack.until import until

# Tries to open one descriptor more whenever "try" is there, and says what came of it.
OPENS = """
import os, time
print("begun", flush=True)
while True:
    if os.path.exists("try"):
        os.remove("try")
        try:
            open(os.devnull)
            print("opened", flush=True)
        except OSError as error:
            print(error.strerror, flush=True)
    time.sleep(0.005)
"""


@pytest.fixture
def process(guardian: Guardian, tmp_path: Path) -> Iterator[ProcessId]:
    one = Script(guardian, tmp_path, OPENS).start(tmp_path / "log")
    until("it has begun", lambda: "begun" in said(tmp_path))
    yield one
    one.signal(signal.SIGKILL)


def said(directory: Path) -> list[str]:
    log = directory / "log"
    return log.read_text().splitlines() if log.exists() else []


def asked_to_open(directory: Path) -> str:
    before = len(said(directory))
    (directory / "try").touch()
    until("it has tried", lambda: len(said(directory)) > before)
    return said(directory)[-1]


def test_a_limited_process_opens_nothing_more_until_the_limit_is_lifted(
    process: ProcessId, tmp_path: Path
) -> None:
    limits = DescriptorLimits()
    ours = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    assert asked_to_open(tmp_path) == "opened"
    limits.limit("decode-0", "engine", [process])
    assert limits.room("decode-0", "engine") == {str(process.pid): 0}
    assert asked_to_open(tmp_path) == "Too many open files"
    limits.lift("decode-0", "engine")
    assert limits.room("decode-0", "engine") == {}
    assert asked_to_open(tmp_path) == "opened"
    assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == ours


def test_a_process_that_died_of_it_is_told_as_gone_and_lifting_is_harmless(
    process: ProcessId,
) -> None:
    limits = DescriptorLimits()
    limits.limit("decode-0", "engine", [process])
    process.signal(signal.SIGKILL)
    until("it is gone", lambda: limits.room("decode-0", "engine") == {str(process.pid): "X"})
    limits.lift("decode-0", "engine")
    limits.lift("decode-0", "engine")


def test_nobody_and_the_same_part_twice_are_refused(process: ProcessId) -> None:
    limits = DescriptorLimits()
    with pytest.raises(ValueError, match="decode-0 is down"):
        limits.limit("decode-0", "engine", [])
    limits.limit("decode-0", "engine", [process])
    with pytest.raises(ValueError, match="limited already"):
        limits.limit("decode-0", "engine", [process])
    limits.lift("decode-0", "engine")
