"""Goal: no failure passes for an answer. Method: histories by hand."""

from __future__ import annotations

import pytest

from chaos.oracles.endings import EndingsAreHonest
from chaos.verdict import Answer
from tests.chaos.table import CONTROL, history, played

ORACLE = EndingsAreHonest()
SENT = "1.0 client sent r1\n 1.2 client tokens r1 text=abcd\n"


def judged(ending: str) -> Answer:
    return ORACLE.judge(history(played(f"{SENT} 1.5 client {ending}"))).answer


def test_it_holds_for_complete_replies() -> None:
    assert ORACLE.judge(history(CONTROL)).answer is Answer.HOLDS


@pytest.mark.parametrize(
    "ending",
    [
        "refused r1 status=503 error=busy",
        "broke r1 how=transport why=reset",
        "broke r1 how=error_event why=timeout done=true",  # [DONE] after an error is honest
        "broke r1 how=unparsable done=null tokens=0",  # a body that is no JSON
        'broke r1 how=truncated done=null "why=expected a JSON object as body, got 7"',
        "finished r1 finish_reason=abort done=true",  # the reason itself says so
        "finished r1 finish_reason=tool_calls done=true",
        "cancelled r1",
    ],
)
def test_an_ending_that_says_what_happened_is_honest(ending: str) -> None:
    assert judged(ending) is Answer.HOLDS


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        ("broke r1 how=truncated done=false tokens=4", "the stream ended without [DONE]"),
        ("broke r1 how=truncated done=true tokens=4", "got [DONE] without a finish_reason"),
        ("broke r1 how=truncated done=null tokens=4", "got a reply without a finish_reason"),
        ("broke r1 how=truncated done=null tokens=0", "got a reply without a finish_reason"),
        ("finished r1 finish_reason=stop done=false", "was taken for finished"),
        ("finished r1 done=true", "was taken for finished"),
    ],
)
def test_an_ending_without_any_sign_of_failure_is_a_violation(ending: str, why: str) -> None:
    finding = ORACLE.judge(history(played(f"{SENT} 1.5 client {ending}")))
    assert finding.answer is Answer.VIOLATED
    assert why in finding.reason


def test_an_error_dressed_as_a_complete_reply_is_a_violation() -> None:
    text = """'text={"error": {"message": "out of memory"}}'"""
    load = f"1.0 client sent r1\n 1.2 client tokens r1 {text}\n"
    load += " 1.5 client finished r1 finish_reason=stop done=true"
    assert ORACLE.judge(history(played(load))).answer is Answer.VIOLATED


def test_a_run_without_requests_proves_nothing() -> None:
    assert ORACLE.judge(history("0.0 run phase steady")).answer is Answer.UNKNOWN


def test_a_run_that_was_cut_off_before_any_ending_proves_nothing() -> None:
    assert ORACLE.judge(history(SENT)).answer is Answer.UNKNOWN
