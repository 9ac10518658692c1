"""Goal: one served request is not yet recovery. Method: histories by hand."""

from __future__ import annotations

from chaos.oracles.recovery import ItServesAgain
from chaos.verdict import Answer
from tests.chaos.table import CONTROL, history

ORACLE = ItServesAgain()
LONE = """
    0.0 client sent recover/lone
    0.1 client finished recover/lone finish_reason=length done=true
"""
SENT = "0.2 client sent recover/capacity-1/0\n"


def test_it_holds_when_the_lone_request_and_the_capacity_probe_are_served() -> None:
    assert ORACLE.judge(history(CONTROL)).answer is Answer.HOLDS


def test_a_lone_request_that_is_refused_is_a_violation() -> None:
    table = "0.0 client sent recover/lone\n 0.1 client refused recover/lone status=503 error=no"
    finding = ORACLE.judge(history(table))
    assert finding.answer is Answer.VIOLATED
    assert "503 no" in finding.reason


def test_a_capacity_probe_that_hangs_is_a_violation() -> None:
    finding = ORACLE.judge(history(f"{LONE}{SENT} 5.2 run phase done"))
    assert finding.answer is Answer.VIOLATED
    assert finding.about == ("recover/capacity-1/0",)


def test_a_bound_that_did_not_elapse_is_not_a_violation() -> None:
    assert ORACLE.judge(history(f"{LONE}{SENT} 5.1 run phase done")).answer is Answer.UNKNOWN


def test_a_capacity_probe_that_was_never_sent_proves_nothing() -> None:
    assert ORACLE.judge(history(f"{LONE} 5.2 run phase done")).answer is Answer.UNKNOWN


def test_without_a_lone_request_nothing_is_proven() -> None:
    assert ORACLE.judge(history("0.0 run phase steady")).answer is Answer.UNKNOWN
