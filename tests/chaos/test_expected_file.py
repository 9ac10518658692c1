"""Goal: an expected file is read line by line, and written so that a person's words survive."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from chaos.expectation import Expectation
from chaos.expected_file import read, write
from chaos.verdict import Outcome

CAUGHT = Expectation(Outcome.CAUGHT, ("a_guard",))
TEXT = """\
# Who catches what.
# Reviewed.

# about agents
["test_b.py::test_agents"]
# it is slow
"2: kill" = { verdict = "CAUGHT", by = "a_guard" }  # seen often
"10: kill"={verdict="TOLERATED"}

["test_a.py::test_x[1]"]
"1: knob A=b # c" = { verdict = "LEAKED", known_bug = "it keeps one" }
# the end
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "expected" / "embedded-smg.toml"
    file.parent.mkdir()
    file.write_text(TEXT, encoding="utf-8")
    return file


def test_each_strike_of_each_test_has_its_line_and_number(path: Path) -> None:
    file = read(path)
    line = file.line("test_b.py::test_agents", "2: kill")
    assert line is not None
    assert (line.number, line.expectation) == (7, CAUGHT)
    assert file.where("test_b.py::test_agents", "2: kill") == f"{path}:7"
    assert file.where("test_b.py::test_agents", "3: kill") == f"{path}:5"
    assert file.where("test_gone.py::test") == str(path)
    assert file.line("test_a.py::test_x[1]", "1: knob A=b # c") is not None


def test_what_it_reads_is_what_toml_says(path: Path) -> None:
    whole = tomllib.loads(TEXT)
    assert {test: set(strikes) for test, strikes in read(path).tests.items()} == {
        test: set(strikes) for test, strikes in whole.items()
    }


def test_writing_sorts_and_keeps_comments_reasons_and_lines_that_nobody_changed(path: Path) -> None:
    write(path, {("test_b.py::test_agents", "1: kill"): CAUGHT}, "unused")
    assert (
        path.read_text()
        == """\
# Who catches what.
# Reviewed.

["test_a.py::test_x[1]"]
"1: knob A=b # c" = { verdict = "LEAKED", known_bug = "it keeps one" }

# about agents
["test_b.py::test_agents"]
"1: kill" = { verdict = "CAUGHT", by = "a_guard" }
# it is slow
"2: kill" = { verdict = "CAUGHT", by = "a_guard" }  # seen often
"10: kill"={verdict="TOLERATED"}

# the end
"""
    )
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_changed_line_keeps_the_comment_behind_it(path: Path) -> None:
    changed = Expectation(Outcome.CAUGHT, ("other",))
    write(path, {("test_b.py::test_agents", "2: kill"): changed}, "unused")
    assert '"2: kill" = { verdict = "CAUGHT", by = "other" } # seen often\n' in path.read_text()


def test_a_test_without_a_line_left_goes(path: Path) -> None:
    write(path, {("test_a.py::test_x[1]", "1: knob A=b # c"): None}, "unused")
    assert "test_a.py" not in path.read_text()
    assert read(path).line("test_b.py::test_agents", "10: kill") is not None


def test_writing_twice_changes_nothing_the_second_time(path: Path) -> None:
    write(path, {}, "unused")
    once = path.read_text()
    write(path, {}, "unused")
    assert path.read_text() == once


def test_a_new_file_says_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "expected" / "new.toml"
    write(file, {("test_a.py::test", "fault-free"): CAUGHT}, "What comes.")
    assert file.read_text().startswith("# What comes.\n\n")
    assert read(file).line("test_a.py::test", "fault-free") is not None


HEADER = '["test_a.py::test"]\n'
GOOD = '"1: kill" = { verdict = "TOLERATED" }\n'


@pytest.mark.parametrize(
    ("text", "number", "why"),
    [
        (HEADER + "'1: kill' = { verdict = ", 2, "expected a comment"),
        (HEADER + '"1: kill" = { verdict = "SILNT" }', 2, "unknown verdict 'SILNT'"),
        (HEADER + '"1: kill" = { verdict = "UNKNOWN" }', 2, "never be expected"),
        (HEADER + '"1: kill" = { verdict = "CAUGHT", who = "a" }', 2, "unknown key 'who'"),
        (HEADER + '"1: kill" = "CAUGHT"', 2, "came 'CAUGHT'"),
        (HEADER + GOOD + GOOD, 3, "'1: kill' stands at line 2 already"),
        (HEADER + GOOD + HEADER, 3, "stands at line 1 already"),
        (GOOD, 1, "expected a test"),
        ("[a.b]\n", 1, "expected a comment"),
        ("[[a]]\n", 1, "expected a comment"),
        (HEADER + "\x00\n", 2, "expected a comment"),
    ],
)
def test_bad_input_is_one_line_with_file_and_number(
    text: str, number: int, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=why) as error:
        read(file)
    assert str(error.value).startswith(f"{file}:{number}: ")
    assert "\n" not in str(error.value)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="in UTF-8"):
        read(file)
