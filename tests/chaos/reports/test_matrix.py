"""The matrix: stages down, kinds across, and the worst of each cell in sight."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.reports.matrix import Judged, judged, list_text, matrix_text, verdicts_text
from chaos.stage import FaultKind, Stage
from chaos.verdict import Outcome, Verdict
from tests.chaos.reports.hand_written import hung


def row(
    outcome: Outcome, stage: Stage = Stage.TRANSFER, kind: FaultKind = FaultKind.LOST
) -> Judged:
    return Judged("test_one", Verdict("1: a fault", outcome, "because"), ((stage, kind),))


def lines(*rows: Judged) -> list[list[str]]:
    return [line.split("  ") for line in matrix_text(rows).splitlines()]


def test_the_verdicts_of_one_test_stand_on_one_line_and_equal_ones_are_counted() -> None:
    rows = [row(Outcome.TOLERATED), row(Outcome.SILENT), row(Outcome.TOLERATED)]
    assert verdicts_text(rows) == "TOLERATED x2; SILENT"


def test_a_verdict_stands_where_its_stage_and_its_kind_meet() -> None:
    table = matrix_text(
        [
            row(Outcome.CAUGHT, Stage.BOOTSTRAP, FaultKind.LATE),
            row(Outcome.SILENT, Stage.DECODE, FaultKind.KILLED),
        ]
    ).splitlines()
    head, bootstrap, decode = (line.split() for line in table[:3])
    assert head == ["stage", "LATE", "KILLED"]
    assert bootstrap == ["bootstrap", "CAUGHT", "·"]
    assert decode == ["decode", "·", "SILENT"]
    assert "2 of 126 cells" in table[-1]
    assert "CAUGHT 1, SILENT 1" in table[-1]


@pytest.mark.parametrize(
    ("outcomes", "cell"),
    [
        ([Outcome.CAUGHT], "CAUGHT"),
        ([Outcome.CAUGHT, Outcome.CAUGHT], "CAUGHT x2"),
        ([Outcome.CAUGHT, Outcome.SILENT, Outcome.TOLERATED], "SILENT +2"),
        ([Outcome.UNKNOWN, Outcome.LEAKED], "LEAKED +1"),  # broken never hides an accusation
        ([Outcome.UNKNOWN, Outcome.SURFACED], "UNKNOWN +1"),  # and is never hidden by a good one
    ],
)
def test_a_cell_shows_its_worst_and_how_many_more(outcomes: list[Outcome], cell: str) -> None:
    second = matrix_text([row(one) for one in outcomes]).splitlines()[1]
    assert second.split(None, 1) == ["transfer", cell]


def test_a_fault_free_experiment_is_listed_but_has_no_cell() -> None:
    free = Judged("test_free", Verdict("fault-free", Outcome.TOLERATED, "fine"))
    assert matrix_text([free]) == "no strike was judged"
    assert "fault-free" in list_text([free])


def test_the_list_has_one_line_per_strike_and_marks_what_was_not_allowed() -> None:
    history, silent = hung()
    caught = replace(silent, outcome=Outcome.CAUGHT, by="prefill_inflight_watchdog", after_s=1.5)
    bad, good = list_text([*judged(history, [silent]), *judged(history, [caught])]).splitlines()
    assert bad.startswith("! ")
    assert not good.startswith("!")
    assert good.endswith("CAUGHT by prefill_inflight_watchdog in 1.50 s")


def test_a_strike_whose_id_ends_like_another_is_not_taken_for_it() -> None:
    history, verdict = hung()
    (one,) = judged(history, [replace(verdict, strike=f"1{verdict.strike}")])
    assert one.places == ()
    (two,) = judged(history, [verdict])
    assert two.places == ((Stage.TRANSFER, FaultKind.FROZEN),)


def test_nothing_judged_is_an_empty_list_not_an_error() -> None:
    assert list_text([]) == ""


def test_what_only_the_reply_told_of_is_counted_apart() -> None:
    named, alone = row(Outcome.CAUGHT), row(Outcome.CAUGHT)
    alone = replace(alone, verdict=replace(alone.verdict, unnamed=1))
    assert "CAUGHT 2, CAUGHT by the reply alone 1" in matrix_text([named, alone, named])


def test_a_control_that_is_no_reference_is_told_first() -> None:
    leaked = Verdict("control", Outcome.LEAKED, "why")
    lines = list_text(
        [row(Outcome.UNKNOWN), Judged("test_two", leaked, allowed=False)]
    ).splitlines()
    assert ["control" in one for one in lines] == [True, False]


def test_a_known_bug_is_marked_as_an_expected_failure() -> None:
    bug = replace(row(Outcome.SILENT), allowed=False, known_bug=True)
    assert list_text([bug]).startswith("x ")
    assert list_text([replace(bug, known_bug=False)]).startswith("! ")
