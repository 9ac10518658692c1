"""Goal: a strike that hurt nobody proves nothing. Method: histories by hand."""

from __future__ import annotations

import pytest

from chaos.oracles.vacuity import EveryStrikeBites
from chaos.verdict import Answer, Finding
from tests.chaos.table import history, strike

ORACLE = EveryStrikeBites()
REQUEST = "1.0 client sent r1\n 2.0 client finished r1 finish_reason=length done=true\n"


def judged(*lines: str) -> Finding:
    return ORACLE.judge(history("\n".join((REQUEST, *lines)), strikes=[strike()]))


@pytest.mark.parametrize(("entry", "exit_"), [("true", "false"), ("false", "true")])
def test_it_holds_when_one_of_the_two_proofs_shows_that_it_bit(entry: str, exit_: str) -> None:
    finding = judged(f"1.5 fault struck S1 bit={entry}", f"1.9 fault healed S1 bit={exit_}")
    assert finding.answer is Answer.HOLDS


def test_a_strike_that_nothing_shows_is_vacuous() -> None:
    finding = judged("1.5 fault struck S1 bit=false", "1.9 fault healed S1 bit=false")
    assert finding.answer is Answer.UNKNOWN
    assert "nothing shows" in finding.reason


def test_a_strike_that_never_began_is_vacuous_and_its_trigger_is_told() -> None:
    finding = judged()
    assert finding.answer is Answer.UNKNOWN
    assert "at 1 s" in finding.reason


def test_a_strike_after_the_last_request_is_vacuous() -> None:
    finding = judged("2.1 fault struck S1 bit=true", "2.2 fault healed S1 bit=true")
    assert finding.answer is Answer.UNKNOWN
    assert "every request had ended" in finding.reason
    met = judged("2.0 fault struck S1 bit=true", "2.2 fault healed S1 bit=true")
    assert met.answer is Answer.HOLDS  # r1 ended in that moment


def test_the_time_of_entering_counts_for_what_failed_in_it_and_not_for_what_ended_well() -> None:
    entered = ("2.1 fault struck S1 bit=true entry_s=0.2", "2.2 fault healed S1 bit=true")
    assert judged(*entered).answer is Answer.UNKNOWN
    failed = "1.6 client sent r2\n {} client refused r2 status=503"
    assert judged(*entered, failed.format(1.95)).answer is Answer.HOLDS
    assert judged(*entered, failed.format(1.85)).answer is Answer.UNKNOWN


def test_what_failed_while_it_entered_on_another_node_did_not_meet_it() -> None:
    """Nor did one whose client left."""
    entered = "2.1 fault struck 'S1 on decode-1' bit=true entry_s=0.2"
    table = f"{REQUEST}{entered}\n 1.6 client sent r2\n 1.7 {{}} stage r2 stage=decode attempt=1\n"
    for node, end, answer in (
        ("decode-1", "refused r2 status=503", Answer.HOLDS),
        ("decode-0", "refused r2 status=503", Answer.UNKNOWN),
        ("decode-1", "cancelled r2", Answer.UNKNOWN),
    ):
        beside = "0.1 fault struck 'S2 on decode-0' bit=true\n 9 fault healed 'S2 on decode-0'"
        told = history(
            f"{table.format(node)}1.95 client {end}\n{beside}",
            strikes=[strike("S1 on decode-1"), strike("S2 on decode-0")],
        )
        assert ORACLE.judge(told).answer is answer, (node, end)


def test_a_request_that_had_hung_when_the_strike_came_did_not_meet_it() -> None:
    hung = "1.0 client sent r2\n 9.0 run phase done"
    strikes = "{0} fault struck S1 bit=true\n {0} fault healed S1 bit=true"
    assert judged(hung, strikes.format(6.9)).answer is Answer.HOLDS  # settle_s is 6
    assert judged(hung, strikes.format(7.0)).answer is Answer.UNKNOWN
    assert judged(hung, strikes.format(7.1)).answer is Answer.UNKNOWN


def test_a_request_of_the_recovery_does_not_count_as_one_that_was_struck() -> None:
    late = ("2.1 fault struck S1 bit=true", "2.2 fault healed S1 bit=true")
    assert judged(*late, "3.0 client sent recover/lone").answer is Answer.UNKNOWN


def test_a_run_without_a_planned_strike_has_nothing_to_judge() -> None:
    assert ORACLE.judge(history(REQUEST)).answer is Answer.UNKNOWN


def test_a_run_that_was_cut_off_while_struck_still_shows_what_bit() -> None:
    assert judged("1.5 fault struck S1 bit=true").answer is Answer.HOLDS


def test_one_request_that_met_the_strike_is_enough() -> None:
    met = "1.6 client sent r2"
    late = ("2.1 fault struck S1 bit=true", "2.2 fault healed S1 bit=true")
    assert judged(met, *late).answer is Answer.HOLDS  # r1 had ended, r2 had not
