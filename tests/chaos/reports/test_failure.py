"""The text of a failed experiment: everything a stranger needs, worst first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.reports.failure import EVIDENCE_LINES_MAX, failure_text
from chaos.verdict import BROKEN, Outcome, Verdict
from tests.chaos.reports.hand_written import STRIKE, hung

FILE = Path("histories") / "stalled.jsonl"
AGAIN = "python -m pytest suites/test_transfer.py::test_kv_transfer_stalled_mid_way --seed 7"


def told(*verdicts: Verdict) -> str:
    history, _ = hung()
    return failure_text(history, verdicts, FILE, AGAIN)


def test_a_silent_hang_names_request_stage_seconds_evidence_promise_and_way_back() -> None:
    _, verdict = hung()
    text = told(verdict)
    for wanted in (
        "SILENT, not allowed: r1 had not ended 6.00 s",
        f"{STRIKE} (transfer, frozen but alive), when attempt 1 of r1 enters transfer, for 8 s",
        "requests  r1",
        "stage     transfer",
        "after     6.00 s",
        "no signal moved",
        "allowed   CAUGHT by prefill_inflight_watchdog",
        "prefill-0  stage transfer     r1",
        f"history   {FILE}",
        f"again     {AGAIN}",
    ):
        assert wanted in text


@pytest.mark.parametrize("outcome", Outcome, ids=lambda one: one.name)
def test_the_first_line_begins_with_the_verdict_and_says_failed_or_broken(
    outcome: Outcome,
) -> None:
    _, verdict = hung()
    first = told(replace(verdict, outcome=outcome, reason="two\nlines")).splitlines()[0]
    stand = "broken, proves nothing" if outcome in BROKEN else "not allowed"
    assert first.startswith(f"{outcome.value}, {stand}: two lines [")


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Outcome.SURFACED, "signal    alert inflight pinned"),
        (Outcome.CAUGHT, "signal    guard inflight pinned"),
    ],
)
def test_a_signal_is_called_what_it_is(outcome: Outcome, line: str) -> None:
    _, verdict = hung()
    assert line in told(replace(verdict, outcome=outcome, by="inflight pinned"))


def test_the_worst_verdict_comes_first_and_a_broken_one_last() -> None:
    _, silent = hung()
    leaked = replace(silent, outcome=Outcome.LEAKED)
    unknown = replace(silent, outcome=Outcome.UNKNOWN)
    text = told(unknown, leaked, silent)
    places = [text.index(f"verdict   {word}") for word in ("SILENT", "LEAKED", "UNKNOWN")]
    assert places == sorted(places)
    assert text.startswith("SILENT")


def test_evidence_is_the_named_events_and_no_other() -> None:
    history, verdict = hung()
    text = told(replace(verdict, evidence=(history.events[0].seq,)))
    assert text.count(" s  ") == 1
    assert "phase" in text


def test_long_evidence_is_cut_and_says_so() -> None:
    history, verdict = hung()
    everything = tuple(event.seq for event in history)
    assert len(everything) > EVIDENCE_LINES_MAX
    text = told(replace(verdict, evidence=everything))
    assert f"and {len(everything) - EVIDENCE_LINES_MAX} more in the history" in text


def test_evidence_that_the_history_does_not_hold_is_not_passed_over() -> None:
    _, verdict = hung()
    assert "1 that this history does not hold" in told(replace(verdict, evidence=(999_999,)))
    assert "no event was named" in told(replace(verdict, evidence=()))
