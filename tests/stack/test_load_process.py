"""The load generator as a child process: its pipes and its end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator

import pytest

from stack import load_process
from stack.load_process import ROOT, LoadGeneratorDied, LoadProcess, Report
from tests.fakes.sse_server import SOON_S
from tests.stack.stopping import stopped


@pytest.fixture
def reports() -> list[Report]:
    return []


@pytest.fixture
def process(reports: list[Report]) -> Generator[LoadProcess]:
    one = LoadProcess(reports.append)
    yield one
    one.close(SOON_S)


def test_it_answers(process: LoadProcess) -> None:
    assert process.ask("ping", SOON_S) is True


def test_a_pipe_that_nobody_reads_is_not_written_to_for_ever(process: LoadProcess) -> None:
    assert process.ask("ping", SOON_S) is True
    with stopped(process.pid), pytest.raises(TimeoutError, match="does not read its commands"):
        process.ask("start", 0.2, requests="x" * 1_000_000)


def test_an_answer_that_does_not_come_is_not_waited_for(process: LoadProcess) -> None:
    assert process.ask("ping", SOON_S) is True
    with stopped(process.pid), pytest.raises(TimeoutError, match="did not ping"):
        process.ask("ping", 0.1)


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next(process: LoadProcess) -> None:
    assert process.ask("ping", SOON_S) is True
    with stopped(process.pid), pytest.raises(TimeoutError):
        process.ask("ping", 0.1)
    assert process.ask("stop", SOON_S) is False  # nothing was to be stopped


def test_its_death_is_reported_once_and_said_to_every_caller(
    process: LoadProcess, reports: list[Report]
) -> None:
    os.kill(process.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(LoadGeneratorDied, match=r"code -9|closed its standard input"):
            process.ask("ping", SOON_S)
    process.close(SOON_S)
    (report,) = reports
    assert "code -9" in str(report.died)


def test_its_last_words_are_kept(process: LoadProcess) -> None:
    with pytest.raises(LoadGeneratorDied, match="KeyError"):
        process.ask("dance", SOON_S)  # no such command, and no request id either


def test_one_that_cannot_be_started_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_process.sys, "executable", "/nonexistent/python")
    with pytest.raises(FileNotFoundError):
        LoadProcess(lambda _report: None)


def test_after_close_it_is_dead_and_reaped(process: LoadProcess) -> None:
    process.close(SOON_S)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_it_is_in_a_process_group_of_its_own(process: LoadProcess) -> None:
    assert os.getpgid(process.pid) == process.pid


def test_it_dies_with_its_parent_even_if_somebody_holds_its_pipes() -> None:
    program = (
        "import os, subprocess, time; from stack.load_process import LoadProcess\n"
        "process = LoadProcess(print); process.ask('ping', 20.0)\n"
        "pipes = [int(name) for name in os.listdir('/proc/self/fd') if int(name) > 2]\n"
        "holder = subprocess.Popen(['sleep', '60'], pass_fds=pipes)\n"
        "print(process.pid, holder.pid, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        pid, holder = (int(word) for word in parent.stdout.readline().split())
        child = os.pidfd_open(pid)
        parent.kill()
    ended, _, _ = select.select([child], [], [], SOON_S)  # a pidfd is readable when it ended
    os.close(child)
    os.kill(holder, signal.SIGKILL)
    assert ended
