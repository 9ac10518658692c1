"""Goal: the results of a run stay until another run of everything begins to play.

Method: the suites' own conftest.py beside toy tests, each command line in a pytest of its own.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
CONFTEST = Path(__file__).resolve().parents[2] / "suites" / "conftest.py"


@dataclass(frozen=True)
class Folder:
    pytester: pytest.Pytester

    def keeps(self, *words: str) -> bool:
        """Whether the results of the run before are still there after this one."""
        results = self.pytester.path / "report" / "allure-results"
        results.mkdir(parents=True, exist_ok=True)
        before = results / "before-result.json"
        before.write_text("{}")
        self.pytester.runpytest_subprocess(*words, "--report-dir", str(results.parent))
        return before.exists()


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Folder:
    below = pytester.path / "suites" / "below"
    below.mkdir(parents=True)
    shutil.copy(CONFTEST, below.parent)
    (below.parent / "test_a.py").write_text("def test_it(): pass\ndef test_two(): pass\n")
    (below / "test_b.py").write_text("def test_it_too(): pass\n")
    return Folder(pytester)


@pytest.mark.parametrize("words", [("suites",), ("suites", "-n", "2")], ids=" ".join)
def test_a_run_of_everything_begins_with_an_empty_folder(
    folder: Folder, words: tuple[str, ...]
) -> None:
    assert not folder.keeps(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("suites/test_a.py",),
        ("suites/below",),
        ("suites", "-k", "two"),
        ("suites", "--setup-plan"),
        ("suites", "--fixtures"),
        ("suites", "--seed", "refused"),
        ("suites", "--stack", "refused"),
    ],
    ids=" ".join,
)
def test_a_run_of_a_part_or_one_that_plays_nothing_leaves_it_alone(
    folder: Folder, words: tuple[str, ...]
) -> None:
    assert folder.keeps(*words)
