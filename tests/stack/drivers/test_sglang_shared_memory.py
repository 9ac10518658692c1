"""Goal: what a server of ours leaves in /dev/shm is removed, and what is another's stays."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from stack.child_environment import child_environment
from stack.drivers.sglang_program import NAMES
from stack.drivers.sglang_shared_memory import SharedMemory
from stack.guardian import Guardian, Launch
from stack.process_table import tree
from tests.stack.until import until

PLACE = Path("/dev/shm")  # noqa: S108 - the place that is tested
MAP = (
    "import mmap, sys, time; file = open(sys.argv[1], 'r+b'); "
    "held = mmap.mmap(file.fileno(), 0); print('mapped', flush=True); time.sleep(100)"
)
SEMAPHORE = (
    "import multiprocessing, time; held = multiprocessing.get_context('spawn').Semaphore(); "
    "print(held._semlock.name, flush=True); time.sleep(100)"
)


@pytest.fixture
def guardian() -> Generator[Guardian]:
    one = Guardian()
    yield one
    one.close()


@pytest.fixture
def file() -> Generator[Path]:
    path = PLACE / f"pdchaos-test-{secrets.token_hex(4)}"
    path.write_bytes(b"x" * 4096)
    yield path
    path.unlink(missing_ok=True)


def started(guardian: Guardian, code: str, word: str, log: Path, **variables: str) -> int:
    launch = Launch(
        [sys.executable, "-c", code, word], child_environment(variables), log.parent, log
    )
    process = guardian.spawn(launch)
    until("it has begun", lambda: log.exists() and log.read_text(), 20.0)
    return process.pid


def test_a_file_that_ours_have_mapped_is_counted_and_removed(
    guardian: Guardian, file: Path, tmp_path: Path
) -> None:
    memory = SharedMemory(guardian, "pdchaos-test-none-")
    pid = started(guardian, MAP, str(file), tmp_path / "log")
    assert memory.count() == 0
    memory.look("decode-0", tree(pid))
    assert memory.count() == 1
    memory.remove("decode-0")
    assert not file.exists()


def test_a_file_that_only_a_stranger_has_mapped_stays(guardian: Guardian, file: Path) -> None:
    memory = SharedMemory(guardian, "pdchaos-test-none-")
    stranger = subprocess.Popen([sys.executable, "-c", MAP, str(file)], stdout=subprocess.PIPE)
    try:
        assert stranger.stdout is not None
        stranger.stdout.readline()
        memory.look("decode-0", tree(guardian.pid))
        memory.remove_all()
        assert file.exists()
    finally:
        stranger.kill()
        stranger.wait()
        assert stranger.stdout is not None
        stranger.stdout.close()


def test_a_run_that_ends_before_anybody_looked_leaves_nothing_mapped_behind(
    guardian: Guardian, file: Path, tmp_path: Path
) -> None:
    SharedMemory(guardian, "pdchaos-test-none-")
    started(guardian, MAP, str(file), tmp_path / "log")
    guardian.close()
    assert not file.exists()


def test_semaphores_of_a_killed_server_bear_our_prefix_and_are_removed(
    guardian: Guardian, tmp_path: Path
) -> None:
    prefix = f"pdchaos-test-{secrets.token_hex(4)}-"
    memory, log = SharedMemory(guardian, prefix), tmp_path / "log"
    variables = {"PYTHONPATH": os.fspath(NAMES), "PDCHAOS_SEMAPHORES": f"/{prefix}"}
    pid = started(guardian, SEMAPHORE, "", log, **variables)
    left = PLACE / f"sem.{log.read_text().strip()[1:]}"
    assert left.name.startswith(f"sem.{prefix}")
    assert left.exists()
    for one in tree(pid):  # the tracker that would have removed it is killed as well
        one.signal(9)
    memory.remove_all()
    assert not left.exists()
