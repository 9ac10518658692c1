"""`ci/mutate engine`: seeds that fit the source, and a red test that must be red for its reason."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.commands.judge_file import expectation
from chaos.verdict import CONTROL, Outcome, Verdict
from ci.mutants import engine
from ci.mutants.engine import Came
from ci.mutants.engine_seeds import SEEDS
from ci.mutants.seed import SUITE, Edit, Seed

ROOT = Path(__file__).parents[2]
SEED = Seed("one", "x#1", (Edit("sum.py", "a + b", "a - b"),), "test_sum", "CAUGHT by guard")


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_a_seed_fits_the_source_and_the_seeded_source_is_python(seed: Seed, tmp_path: Path) -> None:
    for edit in seed.edits:
        copy = tmp_path / edit.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((ROOT / edit.file).read_text())
        edit.apply(tmp_path)
        ast.parse(copy.read_text())


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_a_seed_s_suite_names_its_reports_and_its_verdict_is_one(seed: Seed) -> None:
    functions = [one for one in ast.parse((ROOT / seed.suite).read_text()).body
                 if isinstance(one, ast.FunctionDef)]  # fmt: skip
    told = {one.name: ast.get_docstring(one) or "" for one in functions}
    docstring = told[seed.test.partition("[")[0]]
    assert seed.suite != SUITE or docstring.startswith(f"{seed.reports}: ")
    assert len(expectation(seed.says)) == 1


def test_text_that_is_not_there_exactly_once_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "sum.py").write_text("a + b; a + b")
    with pytest.raises(ValueError, match=r"sum\.py: expected once, found 2 times: 'a \+ b'"):
        SEED.edits[0].apply(tmp_path)
    assert (tmp_path / "sum.py").read_text() == "a + b; a + b"
    with pytest.raises(ValueError, match=r"gone\.py: expected once, found 0 times"):
        Edit("gone.py", "a", "b").apply(tmp_path)


def verdict(outcome: Outcome, by: str | None = None) -> Verdict:
    return Verdict("1: strike", outcome, "because", by)


@pytest.mark.parametrize(
    ("came", "told"),
    [
        (Came(1, (verdict(Outcome.CAUGHT, "guard"),)), True),
        (Came(1, (verdict(Outcome.TOLERATED), verdict(Outcome.CAUGHT, "guard"))), True),
        (Came(1, (Verdict(CONTROL, Outcome.CAUGHT, "because", "guard"),)), True),
        (Came(1, (verdict(Outcome.CAUGHT, "another"),)), False),
        (Came(1, (verdict(Outcome.SILENT),)), False),
        (Came(0, (verdict(Outcome.CAUGHT, "guard"),)), False),
        (Came(-1, ()), False),
        (Came(1, ()), False),
    ],
)
def test_a_seed_is_told_by_a_red_test_with_its_verdict_and_by_nothing_less(
    came: Came, *, told: bool
) -> None:
    assert came.is_told(SEED) is told


def test_a_name_that_no_seed_has_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert engine.main(["nothing like that"]) == 2
    assert "no seed ['nothing like that']; there are: a failed room" in capsys.readouterr().err


def test_the_copy_is_whole_again_after_a_seed_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sum.py").write_text("def add(a, b):\n    return a + b\n")
    seen: list[str] = []

    def tested(_: object, copy: Path) -> int:
        seen.append((copy / "sum.py").read_text())
        return 1

    monkeypatch.setattr(engine, "tested", tested)
    whole = (tmp_path / "sum.py").read_text()
    twice = replace(SEED, edits=(*SEED.edits, Edit("sum.py", "def add", "def plus")))
    assert engine.played(twice, tmp_path, tmp_path / "report") == Came(1, ())
    assert seen == ["def plus(a, b):\n    return a - b\n"]
    assert (tmp_path / "sum.py").read_text() == whole
