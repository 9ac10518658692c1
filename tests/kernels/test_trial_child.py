"""The child that runs trials: bounded, ended with its user, and telling wrong from right."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.trials.child import Report, TrialChild, TrialSilent


def child_of(tmp_path: Path, source: str) -> TrialChild:
    """A child whose kernels are `source` and nothing else."""
    trials = tmp_path / "kernels" / "trials"
    trials.mkdir(parents=True)
    for package in (trials.parent, trials):
        (package / "__init__.py").touch()
    (trials / "__main__.py").write_text(source)
    return TrialChild(root=tmp_path)


GREET = 'import sys; print(\'{"device": "none", "names": []}\', flush=True)\n'


def test_a_trial_that_hangs_is_given_up_and_its_child_is_ended(tmp_path: Path) -> None:
    child = child_of(tmp_path, GREET + "import time; time.sleep(60)")

    with child, pytest.raises(TrialSilent, match=r"nothing for 0\.2 s on long"):
        child.run("long", within_s=0.2)

    assert child.ended_with is not None


def test_a_child_that_dies_is_told_from_one_that_is_slow(tmp_path: Path) -> None:
    child = child_of(tmp_path, GREET + "sys.stdin.readline(); sys.exit(3)")

    with child, pytest.raises(TrialSilent, match="died on short"):
        child.run("short")


def test_a_child_that_cannot_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(TrialSilent, match="died on its start"), child_of(tmp_path, "1 / 0"):
        pass


def test_a_report_says_what_was_measured_and_what_was_allowed() -> None:
    wrong = Report("gqa", error=0.5, allowed=0.25)

    assert str(wrong) == "gqa is WRONG: error 0.5, allowed 0.25"
    assert str(Report("gqa", crash="KeyError: 1")) == "gqa: crashed with KeyError: 1"
