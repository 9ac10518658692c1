"""ci/mutate tells a mutation that a test noticed from one that none did, and from a stale one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ci import mutate
from tests.ci.required import ROOT

TEST = """
from sum import add
def test_two_and_two() -> None:
    assert add(2, 2) == 4
"""


def mutation(before: str = "a + b", after: str = "a - b") -> mutate.Mutation:
    return mutate.Mutation("minus", "sum.py", before, after, ("test_sum.py",))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sum.py").write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "test_sum.py").write_text(TEST)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    return tmp_path


def judged(monkeypatch: pytest.MonkeyPatch, one: mutate.Mutation) -> int:
    monkeypatch.setattr(mutate, "PARTS", {"sum": (one,)})
    return mutate.main(["sum"])


def test_a_noticed_mutation_passes_and_the_original_stays_whole(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(monkeypatch, mutation()) == 0
    assert "a + b" in (project / "sum.py").read_text()


@pytest.mark.usefixtures("project")
def test_a_mutation_that_nobody_notices_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(monkeypatch, mutation(after="b + a")) == 1
    assert "survived: ['minus']" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_a_mutation_that_no_longer_fits_is_bad_usage_and_not_a_kill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert judged(monkeypatch, mutation(before="a * b")) == 2


def test_tests_that_were_red_before_kill_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "test_sum.py").write_text(TEST.replace("== 4", "== 5"))

    assert judged(monkeypatch, mutation()) == 2
    assert "on whole code" in capsys.readouterr().err


def test_an_unknown_part_is_bad_usage() -> None:
    assert mutate.main(["cosmos"]) == 2


def test_nothing_that_is_to_be_broken_is_loaded_before_it_is_broken() -> None:
    loaded = "print([one for one in sys.modules if one.startswith('chaos.')])"
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, ci.mutate, ci.mutants.judge; {loaded}"],
        cwd=ROOT,
        timeout=60,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "[]"
