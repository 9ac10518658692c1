"""Goal: ci/mutate judge breaks what it says, and tells a mutant that a test noticed from one that
none did. Method: a small module of its own, and its tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ci.mutants import judge
from ci.mutants.breaking import members_of, mutants
from ci.mutants.forked import GREEN, RED
from ci.mutants.mutant import Mutant
from ci.mutants.reviewed import reviewed, stale
from ci.mutants.verdict_code import DECIDING, judged_by, modules

WORDS = """
from enum import Enum
class Colour(Enum):
    RED = 0
    GREEN = 1
"""
SOURCE = '''"""Owns a verdict of its own."""
from words import Colour


def verdict(late_s: float, told: bool) -> Colour:
    assert late_s >= 0
    if late_s > 2 and not told:
        return Colour.RED
    return Colour.GREEN
'''
TEST = """
from words import Colour
from verdict import verdict
def test_late_and_silent_is_red() -> None:
    assert verdict(3, False) is Colour.RED
    assert verdict(1, False) is verdict(3, True) is Colour.GREEN
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of three files."""
    (tmp_path / "words.py").write_text(WORDS)
    (tmp_path / "verdict.py").write_text(SOURCE)
    (tmp_path / "test_verdict.py").write_text(TEST)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    return tmp_path


def made(project: Path) -> list[Mutant]:
    return mutants(project, "verdict.py", members_of([WORDS]))


# In a process of its own: a pytest that forks has threads that its children lack.
PLAY = """
import json, sys
from pathlib import Path
from ci.mutants import forked
forked.CPU_S_MAX = 2
root, folder = Path(sys.argv[1]), Path(sys.argv[2])
jobs = [forked.Job(n, ["test_verdict.py"], *told) for n, told in enumerate(json.load(sys.stdin))]
print(json.dumps({each.job.number: each.ended for each in forked.play(root, jobs, folder, 2)}))
"""


def ended(project: Path, broken: Sequence[Mutant | None], folder: Path) -> list[int | None]:
    """How pytest ended on each mutant, and on whole code for None."""
    told = json.dumps([(one.file, one.text) if one else (None, "") for one in broken])
    command = [sys.executable, "-c", PLAY, str(project), str(folder)]
    said = subprocess.run(
        command, input=told, capture_output=True, text=True, timeout=300, cwd=judge.ROOT, check=True
    )
    answers: dict[str, int | None] = json.loads(said.stdout)
    return [answers[str(number)] for number in range(len(broken))]


def test_every_small_way_to_break_a_line_is_found(project: Path) -> None:
    broken = {one.after for one in made(project)}

    assert broken == {
        "if late_s >= 2 and not told:",
        "if late_s <= 2 and not told:",
        "if late_s > 2 or not told:",
        "if late_s > 2 and told:",
        "if False:",
        "return Colour.GREEN",
        "return Colour.RED",
    }


def test_assertions_texts_and_annotations_are_left_alone(project: Path) -> None:
    assert not [one for one in made(project) if "assert" in one.before or "float" in one.before]


def test_a_noticed_mutant_is_red_and_whole_code_is_green(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("out")
    unseen = [one for one in made(project) if "late_s >= 2" in one.after]  # nobody tries two
    noticed = [one for one in made(project) if one not in unseen]

    answers = ended(project, [None, *unseen, *noticed], folder)

    assert answers == [GREEN, GREEN, *(RED for _ in noticed)]
    assert (project / "verdict.py").read_text() == SOURCE


def test_a_mutant_that_no_test_imports_was_not_judged(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (project / "test_verdict.py").write_text("def test_nothing() -> None: ...\n")

    answers = ended(project, made(project)[:1], tmp_path_factory.mktemp("out"))

    assert answers[0] not in {GREEN, RED}


def test_a_mutant_that_does_not_end_is_stopped(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    endless = Mutant("verdict.py", 1, "by hand", "", "", SOURCE + "while True: ...\n")

    assert ended(project, [endless], tmp_path_factory.mktemp("out")) == [None]


def test_a_survivor_needs_a_reason_and_its_line(tmp_path: Path, project: Path) -> None:
    path = tmp_path / "survivors.toml"
    path.write_text('[[survivor]]\nfile = "a.py"\nbefore = "x"\nafter = "y"\n')
    with pytest.raises(ValueError, match="expected reason"):
        reviewed(path)

    path.write_text(path.read_text() + 'reason = "it is only wording"\n')
    assert stale(reviewed(path), made(project)) == [("a.py", "x", "y")]


def test_the_same_seed_draws_the_same_mutants() -> None:
    everyone = judge.all_mutants(judge.ROOT)

    assert judge.drawn(everyone, 20, 3, []) == judge.drawn(everyone, 20, 3, [])
    assert judge.drawn(everyone, 20, 3, []) != judge.drawn(everyone, 20, 4, [])
    assert len(judge.drawn(everyone, 20, 3, [])) == 20


def test_every_deciding_module_has_mutants_and_tests() -> None:
    root = judge.ROOT
    assert set(DECIDING) < set(modules(root))
    assert {one.file for one in judge.all_mutants(root)} >= set(DECIDING)
    assert all((root / test).exists() for one in modules(root) for test in judged_by(root, one))


def test_a_module_that_has_moved_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"chaos/judge\.py"):
        modules(tmp_path)
