"""Goal: one served request is not yet recovery. Method: histories by hand."""

from __future__ import annotations

import pytest

from chaos.oracles.recovery import ItServesAgain
from chaos.verdict import Answer
from tests.chaos.table import CONTROL, SPECIFICATION, history

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
    assert finding.evidence == (0, 1)  # when it was sent and what it got


def test_a_capacity_probe_that_hangs_is_a_violation() -> None:
    finding = ORACLE.judge(history(f"{LONE}{SENT} 5.2 run phase done"))
    assert finding.answer is Answer.VIOLATED
    assert finding.about == ("recover/capacity-1/0",)
    assert finding.evidence == (2,)  # when it was sent


def test_a_bound_that_did_not_elapse_is_not_a_violation() -> None:
    assert ORACLE.judge(history(f"{LONE}{SENT} 5.1 run phase done")).answer is Answer.UNKNOWN


def test_a_capacity_probe_that_was_never_sent_proves_nothing() -> None:
    assert ORACLE.judge(history(f"{LONE} 5.2 run phase done")).answer is Answer.UNKNOWN


def test_without_a_lone_request_nothing_is_proven() -> None:
    assert ORACLE.judge(history("0.0 run phase steady")).answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("more_s", "answer"), [(0.0, Answer.HOLDS), (0.001, Answer.VIOLATED), (-0.5, Answer.HOLDS)]
)
def test_a_probe_may_take_so_much_longer_than_after_the_control_s_load_and_no_longer(
    more_s: float, answer: Answer
) -> None:
    took_s = 0.5 + SPECIFICATION.budgets.delay_s + more_s
    table = (
        f"1.0 client sent {{}}\n {1.0 + took_s} client finished {{}} finish_reason=stop done=true"
    )
    lone, many = "recover/lone", "recover/capacity-1/0"
    run = f"{table.format(lone, lone)}\n{table.format(many, many)}"
    usual = run.replace(f" {1.0 + took_s} ", " 1.5 ")
    assert ORACLE.judge(history(run, control=usual)).answer is answer


@pytest.mark.parametrize("control", ["0.0 run phase steady", "0.0 client sent recover/lone"])
def test_a_probe_that_the_control_has_no_time_for_is_only_served(control: str) -> None:
    run = f"{LONE}{SENT} 3.9 client finished recover/capacity-1/0 finish_reason=stop done=true"
    assert ORACLE.judge(history(run, control=control)).answer is Answer.HOLDS
