"""A real history, judged again without a stack: the same verdict, or one clear line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos import history_file
from tests.suites.suite_run import ROOT, SuiteRun, run_suites

JUDGE_S = 60.0
TEST = "test_kv_transfer_stalled_in_the_middle"
CAUGHT = "CAUGHT by prefill_inflight_watchdog"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    ran = run_suites(tmp_path_factory.mktemp("suites"), "-k", TEST)
    assert ran.passed == (TEST,), ran.output
    return ran


def judged(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "chaos", "judge", *map(str, words)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=JUDGE_S, check=False
    )


def verdict_line(text: str) -> str:
    found = re.search(rf"(?m)^ *{TEST} .*$", text)
    assert found, text
    return found[0].strip()


def test_the_verdict_is_the_one_that_the_run_told(ran: SuiteRun) -> None:
    (file,) = ran.histories
    told = verdict_line(ran.output)
    assert CAUGHT in told
    again = judged(file, "--expect", told[told.index(CAUGHT) :])
    assert again.returncode == 0, again.stdout + again.stderr
    assert verdict_line(again.stdout) == told


def test_the_file_alone_says_what_is_allowed_and_how_it_goes_without_a_fault(
    ran: SuiteRun, tmp_path: Path
) -> None:
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(ran.histories[0].read_bytes())
    again = judged(moved)
    assert again.returncode == 0, again.stdout + again.stderr
    assert verdict_line(again.stdout) == verdict_line(ran.output)
    control = history_file.read(moved).control
    assert control is not None
    assert all(one.settled is not None for one in control.lives.values())


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ("SILENT", rf"expected SILENT, came {CAUGHT} in \d\.\d\d s"),
        ("CAUGHT by waiting_timeout", rf"expected CAUGHT by waiting_timeout, came {CAUGHT}"),
        (f"{CAUGHT},TOLERATED", "expected 2 verdicts, came 1"),
    ],
)
def test_another_expectation_fails_and_says_what_differs(
    expect: str, told: str, ran: SuiteRun
) -> None:
    again = judged(ran.histories[0], "--expect", expect)
    assert again.returncode == 1, again.stdout + again.stderr
    assert re.search(told, again.stdout), again.stdout


def cut_off(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def without_its_last_line(whole: bytes) -> bytes:
    return whole[: whole.rstrip().rindex(b"\n") + 1]


def without_a_line_in_the_middle(whole: bytes) -> bytes:
    lines = whole.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2] + lines[len(lines) // 2 + 1 :])


def foreign(_whole: bytes) -> bytes:
    return (ROOT / "README.md").read_bytes()


def empty(_whole: bytes) -> bytes:
    return b""


HURTS = (cut_off, without_its_last_line, without_a_line_in_the_middle, foreign, empty)


@pytest.mark.parametrize("hurt", HURTS, ids=lambda hurt: hurt.__name__)
def test_what_is_no_whole_history_is_one_line_and_exit_code_2(
    hurt: Callable[[bytes], bytes], ran: SuiteRun, tmp_path: Path
) -> None:
    file = tmp_path / "hurt.jsonl"
    file.write_bytes(hurt(ran.histories[0].read_bytes()))
    again = judged(file, "--expect", CAUGHT)
    assert again.returncode == 2
    assert again.stdout == ""
    (line,) = again.stderr.splitlines()
    assert line.startswith(f"chaos judge: {file}")
    assert "expected" in line
