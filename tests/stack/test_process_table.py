"""What the kernel says of a process's threads, read from a /proc of our own making."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stack import process_table
from stack.process_table import ProcessId, identify

PID, START = 4711, 99


def stat(state: str) -> str:
    """A stat line with the command "a (b)": state is field 3, start time field 22, of 52."""
    fields = [state, *("1" for _ in range(16)), "3", "0", str(START), *("0" for _ in range(30))]
    return f"{PID} (a (b)) {' '.join(fields)}\n"


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessId:
    monkeypatch.setattr(process_table, "PROC", tmp_path)
    return ProcessId(PID, START)


def threads(proc: Path, states: str) -> None:
    """A process whose threads are in these states, the leader's first."""
    for number, state in enumerate(states, PID):
        task = proc / str(PID) / "task" / str(number)
        task.mkdir(parents=True)
        (task / "stat").write_text(stat(state))
    (proc / str(PID) / "stat").write_text(stat(states[0]))


@pytest.mark.parametrize(
    ("states", "state"), [("TTT", "T"), ("TTS", "S"), ("TRT", "R"), ("STT", "S"), ("T", "T")]
)
def test_a_process_is_stopped_when_each_of_its_threads_is(
    one: ProcessId, tmp_path: Path, states: str, state: str
) -> None:
    threads(tmp_path, states)
    assert one.state == state
    assert sorted(one.thread_states) == sorted(states)
    assert one.thread_states[0] == states[0]


def test_the_kernel_tells_of_a_process_that_it_takes_down() -> None:
    """One that nobody waited for is a zombie, and has kept its flag."""
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
    try:
        process = identify(child.pid)
        assert process is not None
        assert not process.exiting
        process.signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process.exiting
        assert not ProcessId(child.pid, process.start_ticks + 1).exiting, "another one of its pid"
    finally:
        child.kill()
        child.wait()
    assert not process.exiting, "it is gone"


def test_a_process_that_is_gone_or_another_has_no_thread(one: ProcessId, tmp_path: Path) -> None:
    assert one.thread_states == []
    assert one.state == "X"
    threads(tmp_path, "TT")
    assert ProcessId(PID, START + 1).state == "X"
