"""`python -m chaos judge` and `matrix`: the exit code says it, and bad input is one line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos import history_file
from chaos.__main__ import main
from chaos.commands import judge_file
from chaos.commands import matrix as matrix_command
from chaos.history import History
from chaos.verdict import Outcome, Verdict
from tests.chaos.reports.hand_written import STRIKE, hung


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "history.jsonl"
    history_file.write(path, hung()[0])
    return path


def saying(verdict: Verdict) -> Callable[[History, object], tuple[Verdict, ...]]:
    def judge(_history: History, _accusers: object) -> tuple[Verdict, ...]:
        return (verdict,)

    return judge


@pytest.fixture
def verdict(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """The judge has its own tests: here it says CAUGHT by the watchdog."""
    said = Verdict(STRIKE, Outcome.CAUGHT, "r1 ended", "prefill_inflight_watchdog", 1.5)
    for module in (judge_file, matrix_command):
        monkeypatch.setattr(module, "judge", saying(said))
    return Outcome.CAUGHT


@pytest.mark.usefixtures("verdict")
@pytest.mark.parametrize(
    ("expect", "code", "told"),
    [
        (None, 0, "CAUGHT by prefill_inflight_watchdog in 1.50 s"),
        ("CAUGHT", 0, "CAUGHT"),
        ("CAUGHT by prefill_inflight_watchdog", 0, "CAUGHT"),
        ("CAUGHT by another", 1, "expected CAUGHT by another, came CAUGHT by prefill"),
        ("SILENT", 1, "expected SILENT, came CAUGHT"),
        ("CAUGHT,CAUGHT", 1, "expected 2 verdicts, came 1"),
    ],
)
def test_the_exit_code_says_whether_the_verdicts_are_the_expected_ones(
    expect: str | None, code: int, told: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["judge", str(file), *([] if expect is None else ["--expect", expect])]
    assert main(words) == code
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expect", "code", "told"),
    [
        ("CAUGHT by a+b", 0, "CAUGHT by a+b"),
        ("CAUGHT by b+a in 9.00 s", 0, "CAUGHT by a+b"),
        ("CAUGHT", 0, "CAUGHT by a+b"),
        ("CAUGHT by a", 1, "expected CAUGHT by a, came CAUGHT by a+b in 1.50 s"),
        ("CAUGHT by a+c", 1, "expected CAUGHT by a+c, came CAUGHT by a+b in 1.50 s"),
    ],
)
def test_of_several_guards_that_caught_each_must_be_expected(
    expect: str,
    code: int,
    told: str,
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = Verdict(STRIKE, Outcome.CAUGHT, "r1 and r2 ended", "a+b", 1.5)
    monkeypatch.setattr(judge_file, "judge", saying(both))
    assert main(["judge", str(file), "--expect", expect]) == code
    assert told in capsys.readouterr().out


def test_a_verdict_that_the_history_does_not_allow_is_told_with_its_evidence(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_file, "judge", saying(hung()[1]))
    assert main(["judge", str(file)]) == 1
    assert "SILENT, not allowed" in capsys.readouterr().out


@pytest.mark.usefixtures("verdict")
def test_the_timeline_is_drawn_where_it_was_asked_for(file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "timeline.svg"
    assert main(["judge", str(file), "--timeline", str(picture)]) == 0
    assert picture.read_text().startswith("<svg")


def cut_off(file: Path) -> None:
    file.write_text(file.read_text()[:-40])


def foreign(file: Path) -> None:
    file.write_text('{"format": "something else"}\n')


def binary(file: Path) -> None:
    file.write_bytes(bytes(range(256)))


def empty(file: Path) -> None:
    file.write_text("")


def absent(file: Path) -> None:
    file.unlink()


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("command", ["judge", "matrix"])
@pytest.mark.parametrize("hurt", [cut_off, foreign, binary, empty, absent, a_folder])
def test_a_file_that_is_no_whole_history_is_one_clear_line(
    command: str, hurt: Callable[[Path], None], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hurt(file)
    assert main([command, str(file)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert str(file) in told.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["judge"], "chaos judge: the following arguments are required: file"),
        (["judge", "{file}", "--expect", "FINE"], "'FINE' is no verdict; expected one of TOLER"),
        (["judge", "{file}", "--expect", ""], "'' is no verdict"),
        (["judge", "{file}", "--expect", "CAUGHT by "], "'CAUGHT by' is no verdict"),
        (["judge", "{file}", "--expect", "CAUGHT by  in 1.00 s"], "names nobody"),
        (["judge", "{file}", "--bogus"], "unrecognized arguments: --bogus"),
        (["judge", "{file}", "--timeline", "{file}/x.svg"], "--timeline"),
        (["bogus"], "invalid choice: 'bogus'"),
        ([], "required: command"),
    ],
)
@pytest.mark.usefixtures("verdict")
def test_bad_words_are_one_clear_line_and_exit_code_2(
    words: list[str], told: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(file=file) for word in words]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert len(said.splitlines()) == 1


@pytest.mark.usefixtures("verdict")
def test_the_matrix_shows_what_can_be_read_and_tells_of_the_rest(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    shutil.copy(file, below / "second.jsonl")
    assert main(["matrix", str(tmp_path)]) == 0
    assert "CAUGHT x2" in capsys.readouterr().out
    foreign(below / "second.jsonl")
    assert main(["matrix", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert "CAUGHT 1" in told.out
    assert "second.jsonl" in told.err


OBEYED = "\x1b]0;title\x07\x1b[2J\n\ud800"


@pytest.mark.parametrize("words", [["judge"], ["judge", "--expect", "SILENT"], ["matrix"]])
def test_what_a_terminal_would_obey_is_escaped(
    words: list[str],
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A whole history from elsewhere, whose strike, guard and reason are called so."""
    strike, guard = f"1: stall{OBEYED}", f"watchdog{OBEYED}"
    said = Verdict(strike, Outcome.WRONG, f"r1{OBEYED} failed", guard, 1.5)
    for module in (judge_file, matrix_command):
        monkeypatch.setattr(module, "judge", saying(said))
    main([*words, str(file)])
    told = capsys.readouterr().out
    assert repr(strike)[1:-1] in told
    assert repr(guard)[1:-1] in told
    assert all(one.isprintable() or one == "\n" for one in told)
