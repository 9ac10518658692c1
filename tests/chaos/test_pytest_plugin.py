"""The door into pytest: what bad options say, and what a run leaves to read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
USAGE = 4  # pytest's exit code for bad usage
SOON_S = 60.0
# What the outer pytest was told (-n 2, where its results go) is not meant for the inner one.
CLEAN = {name: text for name, text in os.environ.items() if "PYTEST" not in name}


def ask(*options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "suites/", "--collect-only", "-q", *options]
    return subprocess.run(
        command, cwd=ROOT, env={**CLEAN, **environ}, capture_output=True, text=True,
        timeout=SOON_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--seed", "abc"], r"--seed abc: expected a whole number"),
        (["--seed", "-1"], r"--seed -1: expected a whole number"),
        (["--router", "nginx"], r"router: unknown nginx; known are: smg, sglang-router"),
        (["--stack", "triton"], r"--stack triton: expected one of embedded"),
        (["--topology", "0p1d"], r"topology: expected like '1p1d'.*'0p1d'"),
        (["--topology", "many"], r"topology: expected like '1p1d'.*'many'"),
        (["--guards-off", "luck"], r"guards_off: unknown luck; known are: .*step_watchdog"),
        (["--require", "unicorns"], r"--require: unknown unicorns; known: toxiproxy"),
    ],
)
def test_a_bad_option_is_one_clear_line_and_exit_code_4(options: list[str], line: str) -> None:
    asked = ask(*options)
    assert asked.returncode == USAGE
    said = asked.stdout + asked.stderr
    assert re.search(rf"(?m)^ERROR: {line}", said), said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("PDCHAOS_KERNLES", "PDCHAOS_KERNELS"), ("PDCHAOS_REQUIRES", "PDCHAOS_REQUIRE")],
)
def test_a_misspelt_variable_of_ours_is_refused_with_the_nearest_name(
    name: str, nearest: str
) -> None:
    asked = ask(**{name: ""})
    assert asked.returncode == USAGE
    said = asked.stdout + asked.stderr
    assert f"ERROR: {name}: nobody reads this variable; the nearest name is {nearest}" in said
    assert ask(**{nearest: ""}).returncode == 0


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("PDCHAOS_STEP_TIMEOUT", "@pytest.mark.stack(knobs={...})"),
        ("SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "@pytest.mark.stack(knobs={...})"),
        ("PDCHAOS_GUARDS_OFF", "--guards-off"),
    ],
)
def test_a_knob_that_reaches_no_worker_is_refused(name: str, instead: str) -> None:
    asked = ask(**{name: "5"})
    assert asked.returncode == USAGE
    said = asked.stdout + asked.stderr
    assert f"ERROR: {name} (environment variable) reaches no worker from here" in said
    assert f"set it by {instead}" in said


def test_an_unknown_marker_is_refused() -> None:
    asked = ask("-m", "transfer", "--strict-markers")
    assert asked.returncode == 0
    assert "test_kv_transfer_stalled_in_the_middle" in asked.stdout


def test_experiments_on_the_same_plan_stand_together() -> None:
    tests = [line for line in ask().stdout.splitlines() if "::" in line]
    sticky = [index for index, test in enumerate(tests) if "sticky" in test]
    assert sticky == list(range(sticky[0], sticky[0] + len(sticky)))


def test_the_kernels_that_pytest_was_told_of_reach_every_engine(tmp_path: Path) -> None:
    environ = {**CLEAN, "PDCHAOS_KERNELS": "abacus"}
    before = tmp_path / "allure-results" / "of-the-run-before.json"
    before.parent.mkdir()
    before.write_text("{}")
    command = [sys.executable, "-m", "pytest", "suites/test_legs.py", "-q", "-x", "-k", "refuses"]
    command += ["--report-dir", str(tmp_path)]
    asked = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=SOON_S, check=False
    )
    assert asked.returncode == 1
    assert "PDCHAOS_KERNELS: expected" in asked.stdout, asked.stdout
    assert before.exists(), "a part of the suites emptied the results of the whole"
    assert len(list(before.parent.glob("*-result.json"))) == 1, "results follow --report-dir"
