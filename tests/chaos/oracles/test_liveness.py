"""Goal: a hang is a hang only when its bound was over. Method: histories by hand."""

from __future__ import annotations

from chaos.oracles.liveness import EveryRequestSettles
from chaos.verdict import Answer
from tests.chaos.table import CONTROL, STRUCK, history, played, strike

ORACLE = EveryRequestSettles()


def test_it_holds_when_every_request_ended_in_time() -> None:
    assert ORACLE.judge(history(CONTROL, control=CONTROL)).answer is Answer.HOLDS


def test_a_request_that_waits_longer_than_the_bound_violates_it() -> None:
    load = "1.0 client sent r1\n 1.4 prefill-0 stage r1 stage=transfer"
    finding = ORACLE.judge(history(played(load), control=CONTROL, strikes=[strike()]))
    assert finding.answer is Answer.VIOLATED
    assert finding.about == ("r1",)
    assert (
        "had not ended after 18.90 s in transfer" in finding.reason
    )  # from the strike to the end of watching


def test_a_request_that_ended_too_late_violates_it() -> None:
    load = "1.0 client sent r1\n 8.0 client refused r1 status=503"
    finding = ORACLE.judge(history(played(load), control=CONTROL, strikes=[strike()]))
    assert finding.answer is Answer.VIOLATED
    assert "ended unnamed or too late" in finding.reason


def test_a_run_without_requests_proves_nothing() -> None:
    assert ORACLE.judge(history(STRUCK, control=CONTROL)).answer is Answer.UNKNOWN


def test_a_bound_that_did_not_elapse_is_not_a_violation() -> None:
    cut = f"{STRUCK}\n 8.0 client sent r1\n 9.1 run phase converge"
    finding = ORACLE.judge(history(cut, control=CONTROL, strikes=[strike()]))
    assert finding.answer is Answer.UNKNOWN
    assert finding.about == ("r1",)


def test_the_bound_counts_from_the_strike_when_that_came_later_than_the_request() -> None:
    struck = "0.2 run phase disturb\n 6.0 fault struck S1 bit=true\n 9.0 fault healed S1 bit=true"
    cut = f"{struck}\n 1.0 client sent r1\n 11.9 run phase recover"
    finding = ORACLE.judge(history(cut, control=CONTROL, strikes=[strike()]))
    assert finding.answer is Answer.UNKNOWN  # 5.9 s of 6
    over = f"{struck}\n 1.0 client sent r1\n 12.0 run phase recover"
    finding = ORACLE.judge(history(over, control=CONTROL, strikes=[strike()]))
    assert finding.answer is Answer.VIOLATED
