"""Goal: a promise and a line of the file are two things, and either can make a test red."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.comparison import EXPLAIN, Comparison, Expected, key_of
from chaos.expected_file import read
from chaos.verdict import CAUGHT, TOLERATED, Outcome, Verdict

TEST = "test_a.py::test_it"
STRIKE = "1: kill"
BY_A = '{ verdict = "CAUGHT", by = "a" }'
BUG = '{ verdict = "SILENT", known_bug = "nobody tells of it" }'


def verdict(outcome: Outcome = Outcome.CAUGHT, by: str | None = "a") -> Verdict:
    return Verdict(STRIKE, outcome, "why", by=by)


SILENT = verdict(Outcome.SILENT, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def compared(folder: Path, line: str | None, *verdicts: Verdict, play: int = 1) -> Comparison:
    path = folder / "embedded-smg.toml"
    path.write_text("" if line is None else f'["{TEST}"]\n"{STRIKE}" = {line}\n')
    return Expected(TEST, read(path)).compare(play, verdicts, (CAUGHT,))


def test_what_is_promised_and_written_there_is_right(folder: Path) -> None:
    assert compared(folder, BY_A, verdict()) == Comparison()


def test_another_name_keeps_the_promise_and_is_a_difference(folder: Path) -> None:
    found = compared(folder, BY_A, verdict(by="b"))
    assert found.refused == ()
    (one,) = found.differences
    assert one.line == f'"{STRIKE}" = {{ verdict = "CAUGHT", by = "b" }}'
    assert one.stood == f"CAUGHT by a ({folder / 'embedded-smg.toml'}:2)"
    assert found.red == {STRIKE}


def test_a_better_verdict_is_a_difference_too(folder: Path) -> None:
    path = folder / "embedded-smg.toml"
    path.write_text(f'["{TEST}"]\n"{STRIKE}" = {BY_A}\n')
    better = verdict(Outcome.TOLERATED, None)
    found = Expected(TEST, read(path)).compare(1, [better], (CAUGHT, TOLERATED))
    assert [one.line for one in found.differences] == [f'"{STRIKE}" = {{ verdict = "TOLERATED" }}']


def test_a_verdict_without_a_line_is_a_difference(folder: Path) -> None:
    found = compared(folder, None, verdict())
    assert [one.stood for one in found.differences] == [
        f"no line yet in {folder / 'embedded-smg.toml'}"
    ]


def test_a_line_excuses_no_broken_promise(folder: Path) -> None:
    found = compared(folder, '{ verdict = "SILENT" }', SILENT)
    assert found.refused == (SILENT,)
    assert found.red == {STRIKE}


def test_a_known_bug_is_excused_by_the_very_verdict(folder: Path) -> None:
    found = compared(folder, BUG, SILENT)
    assert (found.known, found.reasons) == ((SILENT,), ("nobody tells of it",))
    assert found.red == frozenset()


def test_another_verdict_than_the_known_bug_s_is_news(folder: Path) -> None:
    worse = verdict(Outcome.WRONG, None)
    found = compared(folder, BUG, worse)
    assert found.refused == (worse,)
    assert found.accepting().differences == ()
    assert "nobody tells of it" in found.differences[0].line


def test_a_known_bug_that_is_mended_is_red_and_loses_its_reason(folder: Path) -> None:
    found = compared(folder, BUG, verdict())
    assert [one.line for one in found.differences] == [f'"{STRIKE}" = {BY_A}']
    assert found.red == {STRIKE}


def test_a_known_bug_that_keeps_the_promise_is_none(folder: Path) -> None:
    bug = '{ verdict = "CAUGHT", by = "a", known_bug = "it should not" }'
    found = compared(folder, bug, verdict())
    assert [one.line for one in found.differences] == [f'"{STRIKE}" = {BY_A}']


def test_a_broken_promise_is_not_accepted_without_a_person_s_reason(folder: Path) -> None:
    found = compared(folder, BY_A, SILENT).accepting()
    assert found.refused == (SILENT,)
    (left,) = found.differences
    assert EXPLAIN in left.line
    assert found.accepted == ()


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.NO_OP])
def test_what_proves_nothing_is_refused_and_never_accepted(folder: Path, outcome: Outcome) -> None:
    nothing = verdict(outcome, None)
    found = compared(folder, BY_A, nothing).accepting()
    assert found.refused == (nothing,)
    assert (found.differences, found.accepted) == ((), ())


def test_a_second_play_has_lines_of_its_own(folder: Path) -> None:
    assert key_of(2, STRIKE) == "play 2, 1: kill"
    assert [one.key for one in compared(folder, BY_A, verdict(), play=2).differences] == [
        "play 2, 1: kill"
    ]


def test_without_a_file_the_promises_alone_judge() -> None:
    assert Expected(TEST).compare(1, [verdict(by="anybody")], (CAUGHT,)) == Comparison()
    assert Expected(TEST).compare(1, [SILENT], (CAUGHT,)).refused == (SILENT,)
