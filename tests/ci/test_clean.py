"""ci/clean.py: ends what this checkout's CI environment started, and no stranger."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ci import clean
from tests.stack.stopping import stopped

LIMIT_S = 10
SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]


@contextmanager
def sleeper(environment: Path) -> Generator[subprocess.Popen[str], None, None]:
    """A process that says it was started from this environment; gone when we leave."""
    own = {**os.environ, "VIRTUAL_ENV": str(environment)}
    with subprocess.Popen(SLEEP, env=own, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        try:
            yield process
        finally:
            process.kill()


def test_what_came_from_the_environment_is_killed_even_when_it_is_stopped(tmp_path: Path) -> None:
    with sleeper(tmp_path) as process, stopped(process.pid):
        assert list(clean.started_from(tmp_path)) == [process.pid]
        assert clean.kill(process.pid, tmp_path)
        assert process.wait(LIMIT_S) == -signal.SIGKILL


def test_a_stranger_is_neither_found_nor_killed(tmp_path: Path) -> None:
    with sleeper(tmp_path / "theirs") as process:
        assert process.pid not in list(clean.started_from(tmp_path))
        assert not clean.kill(process.pid, tmp_path)
        assert process.poll() is None


def test_an_environment_whose_name_only_begins_like_ours_is_a_stranger(tmp_path: Path) -> None:
    with sleeper(tmp_path / "venv2") as process:
        assert process.pid not in list(clean.started_from(tmp_path / "venv"))


def test_our_own_family_is_spared() -> None:
    assert os.getpid() in set(clean.ancestors(os.getpid()))
    environment = Path(os.environ.get("VIRTUAL_ENV", "nowhere"))
    assert os.getpid() not in list(clean.started_from(environment))


def test_a_process_that_has_gone_is_not_killed(tmp_path: Path) -> None:
    with sleeper(tmp_path) as process:
        process.kill()
        process.wait(LIMIT_S)
        assert not clean.kill(process.pid, tmp_path)
