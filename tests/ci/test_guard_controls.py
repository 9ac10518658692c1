"""`ci/mutate guards`: which suite needs which guard, and what counts as having noticed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from chaos import expected_file
from chaos.expectation import Expectation
from chaos.verdict import Outcome, Verdict
from ci.mutants import guards
from ci.mutants.guards import EXPECTED, Control, controls, untold

FILE = """
["test_b.py::test_two"]
"1: stall" = { verdict = "CAUGHT", by = "waiting_timeout" }

["test_a.py::test_one"]
"1: stall" = { verdict = "CAUGHT", by = "waiting_timeout" }
"2: cut" = { verdict = "CAUGHT", by = ["bootstrap_timeout", "drain"], why = "by chance" }
"3: reset" = { verdict = "CAUGHT", by = "transport" }
"4: crowd" = { verdict = "FALSE_ALARM", by = "step_watchdog", known_bug = "it condemns" }
"5: slow" = { verdict = "TOLERATED" }
"play 2, 1: stall" = { verdict = "CAUGHT", by = "drain" }
"""
CONTROL = Control(
    "waiting_timeout", "test_a.py::t", "1: stall", Expectation(Outcome.CAUGHT, ("waiting_timeout",))
)


def verdict(outcome: Outcome, by: str | None = None, strike: str = "1: stall") -> Verdict:
    return Verdict(strike, outcome, "because", by)


def test_a_guard_is_shown_by_the_first_line_in_which_it_alone_catches(tmp_path: Path) -> None:
    path = tmp_path / "embedded-smg.toml"
    path.write_text(FILE)
    found = controls(expected_file.read(path))
    assert {guard: one.words for guard, one in found.items()} == {
        "waiting_timeout": ("suites/test_a.py::test_one", "--guards-off", "waiting_timeout")
    }
    assert untold(found, ["drain", "waiting_timeout"]) == ["drain"]


def test_our_own_file_shows_most_guards() -> None:
    found = controls(expected_file.read(EXPECTED))
    assert {"prefill_inflight_watchdog", "abort_propagation", "step_watchdog"} <= set(found)


@pytest.mark.parametrize(
    ("exit_code", "verdicts", "noticed"),
    [
        (1, [verdict(Outcome.SILENT)], True),
        (1, [verdict(Outcome.CAUGHT, "another")], True),
        (1, [verdict(Outcome.CAUGHT, "waiting_timeout")], False),  # red for another reason
        (1, [verdict(Outcome.SILENT, strike="2: cut")], False),
        (1, [verdict(Outcome.UNKNOWN)], False),
        (1, [verdict(Outcome.NO_OP)], False),
        (1, [], False),
        (0, [verdict(Outcome.SILENT)], False),  # green all the same
        (-1, [verdict(Outcome.SILENT)], False),
    ],
)
def test_a_guard_is_noticed_by_a_red_suite_with_another_verdict_and_by_nothing_less(
    exit_code: int, verdicts: list[Verdict], *, noticed: bool
) -> None:
    assert CONTROL.is_noticed(exit_code, verdicts) is noticed


def test_a_guard_whose_suite_stays_green_is_told_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def green(_words: Sequence[str], _folder: Path) -> int:
        return 0

    monkeypatch.setattr(guards, "tested", green)
    assert guards.main(["step_watchdog"]) == 1
    told = capsys.readouterr().out
    assert "NOT NOTICED (exit 0): no history" in told
    assert "0 of 1 noticed; not: ['step_watchdog']" in told


def test_a_guard_that_no_suite_shows_alone_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert guards.main(["nobody"]) == 2
    assert "no suite shows ['nobody'] alone; there are: abort_" in capsys.readouterr().err
