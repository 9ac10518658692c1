"""Goal: who is charged with what, where there are several. Method: whole histories by hand."""

from __future__ import annotations

import pytest

from chaos.judge import judge
from chaos.verdict import Outcome, Verdict
from tests.chaos.one_request import (
    GUARD,
    PINNED,
    QUIET,
    REFUSED,
    RIGHT,
    SENT,
    finished,
    one,
    told,
)
from tests.chaos.table import CONTROL, RECOVERED, STRUCK, history, played, strike


def test_the_first_of_several_guards_is_the_one_that_caught() -> None:
    second = "3.95 router guard r1 guard=router_error_reply why=504\n"
    assert one(SENT + GUARD + second + REFUSED).by == "waiting_timeout"


TWO = (
    STRUCK.replace("healed   S1", "healed   S1")
    + """
    2.0  fault     struck   S2  bit=true
    3.0  fault     healed   S2  bit=true
"""
)


def both(load: str, before: str = TWO) -> dict[str, Verdict]:
    strikes = [strike("S1"), strike("S2")]
    verdicts = judge(history(played(load, before), control=CONTROL, strikes=strikes))
    return {verdict.strike: verdict for verdict in verdicts}


def test_a_request_under_two_strikes_is_charged_to_both_together() -> None:
    verdicts = both(SENT + GUARD + REFUSED)
    assert verdicts["S1"].together == ("S2",)
    assert verdicts["S2"].together == ("S1",)
    assert verdicts["S1"].outcome is verdicts["S2"].outcome is Outcome.CAUGHT


def test_a_request_after_one_strike_is_charged_only_to_the_one_that_lasts() -> None:
    verdicts = both("3.5 client sent r1\n 4.0 client refused r1 status=503")
    assert verdicts["S1"].outcome is Outcome.CAUGHT
    assert verdicts["S1"].together == ()
    assert verdicts["S2"].outcome is Outcome.TOLERATED


@pytest.mark.parametrize(
    ("began_s", "text", "outcome"),
    [
        (3.4, "abcdefghijkl", Outcome.SILENT),  # it took 0.5 s in the control, and delay_s is 2
        (3.6, "abcdefghijkl", Outcome.TOLERATED),
        (3.6, "abcdefghijXX", Outcome.WRONG),  # what is wrong, any that hurt by then may have done
    ],
)
def test_an_answer_that_was_overdue_before_a_strike_is_not_charged_to_it(
    began_s: float, text: str, outcome: Outcome
) -> None:
    before = TWO.replace(" 2.0 ", f" {began_s} ").replace(" 3.0 ", " 5.0 ")
    verdicts = both(f"{SENT}3.9 client tokens r1 text={text}\n{finished(4.0)}", before)
    assert verdicts["S1"].outcome is Outcome.SILENT
    assert verdicts["S2"].outcome is outcome


def test_a_later_strike_does_not_excuse_a_request_that_had_hung_already() -> None:
    late = """
        10.0  fault     struck   S2  bit=true
        10.5  fault     healed   S2  bit=true
    """
    before = STRUCK.replace("9.0", "11.0") + late
    verdicts = both(SENT + "10.2 client refused r1 status=503", before)
    assert verdicts["S1"].outcome is Outcome.SILENT


def test_what_a_strike_left_behind_is_charged_to_it() -> None:
    verdict = one("12.0 client sent r1\n 12.5 client refused r1 status=503\n")
    assert verdict.outcome is Outcome.CAUGHT


def test_what_happened_before_any_strike_is_charged_to_nobody_and_told() -> None:
    load = "0.3 client sent r1\n 0.5 client refused r1 status=503\n 1.5 client sent r2\n"
    load += "1.6 client finished r2 finish_reason=stop done=true\n" + QUIET
    verdicts = judge(told(load))
    assert [(one.strike, one.outcome) for one in verdicts] == [
        ("S1", Outcome.TOLERATED),
        ("fault-free", Outcome.CAUGHT),
    ]


def test_a_fault_free_run_has_one_verdict() -> None:
    (verdict,) = judge(history(CONTROL, control=CONTROL))
    assert (verdict.strike, verdict.outcome) == ("fault-free", Outcome.TOLERATED)


def test_a_fault_free_run_without_a_control_is_judged_by_the_bounds_alone() -> None:
    (verdict,) = judge(history(CONTROL))
    assert verdict.outcome is Outcome.TOLERATED
    hung = CONTROL.replace("1.5  client    finished r1", "1.5  client    tokens   r1")
    (verdict,) = judge(history(hung.replace(" 2.", " 12.").replace(" 3.0", " 13.0")))
    assert verdict.outcome is Outcome.SILENT


def test_one_hung_request_among_those_that_were_caught_is_silent() -> None:
    hung = "1.0 client sent r2\n"
    (verdict,) = judge(told(SENT + GUARD + REFUSED + hung + QUIET))
    assert verdict.outcome is Outcome.SILENT
    assert verdict.about == ("r2", "r1")  # the worst first


def test_one_request_that_overran_among_those_that_were_caught_is_silent() -> None:
    late = "1.0 client sent r2\n 7.2 client refused r2 status=503\n"
    (verdict,) = judge(told(SENT + GUARD + REFUSED + late + QUIET))
    assert verdict.outcome is Outcome.SILENT
    assert verdict.about == ("r2", "r1")


def test_several_guards_that_caught_are_all_named_and_those_without_one_are_counted() -> None:
    other = "1.0 client sent r2\n 2.0 client refused r2 status=503\n"
    verdict = one(SENT + GUARD + REFUSED + other)
    assert (verdict.by, verdict.unnamed) == ("error reply 503+waiting_timeout", 1)
    assert "1 of 2 named by the reply alone" in verdict.reason
    verdict = one(SENT + GUARD + REFUSED)
    assert (verdict.unnamed, "reply alone" in verdict.reason) == (0, False)


def test_detection_counts_from_the_first_request_that_overran_when_that_came_later() -> None:
    before = STRUCK.replace("9.0", "19.9")
    hung = "10.0 client sent r1\n 12.5 signal reading prefill-0/inflight value=1\n"
    in_time = f"{hung} 13.9 signal reading prefill-0/inflight value=1\n"
    (verdict,) = judge(told(in_time + QUIET, before=before))
    assert verdict.outcome is Outcome.SURFACED
    late = f"{hung} 13.0 signal reading prefill-0/inflight value=0\n"
    late += "13.2 signal reading prefill-0/inflight value=1\n 13.5 client sent r2\n"
    late += "14.2 signal reading prefill-0/inflight value=1\n"
    (verdict,) = judge(told(late + QUIET, before=before))
    assert verdict.outcome is Outcome.SILENT


def test_an_alert_that_was_over_before_anybody_waited_told_nobody() -> None:
    gauge = "signal reading prefill-0/inflight value"
    over = f"1.3 {gauge}=1\n 2.4 {gauge}=1\n 2.6 {gauge}=0\n 8.0 client sent r2\n"
    (verdict,) = judge(told(SENT + RIGHT + finished(1.3) + over + QUIET))
    assert verdict.outcome is Outcome.SILENT


def test_without_a_control_an_error_or_a_long_wait_is_not_tolerated() -> None:
    refused = CONTROL.replace(
        "finished r1  finish_reason=length done=true", "refused r1 status=503"
    )
    (verdict,) = judge(history(refused))
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, "error reply 503")
    slow = played(
        SENT + RIGHT + finished(7.3),
        before="""
            0.0 run phase steady
            0.1 resource reading prefill-0/pages value=0
            0.2 run phase disturb
        """,
    )
    (verdict,) = judge(history(slow))
    assert verdict.outcome is Outcome.SILENT
    in_time = slow.replace("7.3 client finished", "7.2 client finished")
    assert [verdict.outcome for verdict in judge(history(in_time))] == [Outcome.TOLERATED]


def test_a_guard_that_spoke_between_two_strikes_caught_what_the_first_one_did() -> None:
    before = (
        STRUCK.replace("9.0", "3.95")
        + """
        3.96 fault struck S2 bit=true
        9.0  fault healed S2 bit=true
    """
    )
    assert both(SENT + GUARD + REFUSED, before)["S2"].by == "waiting_timeout"


def test_a_guard_that_spoke_before_the_strike_caught_nothing() -> None:
    early = GUARD.replace("3.9", "1.08")
    verdicts = judge(told(SENT + early + REFUSED + QUIET))
    assert [(one.strike, one.outcome, one.by) for one in verdicts] == [
        ("S1", Outcome.CAUGHT, "error reply 504"),
        ("fault-free", Outcome.FALSE_ALARM, "waiting_timeout"),
    ]


def test_a_guard_beyond_its_budget_does_not_catch_what_overran_beside_what_was_caught() -> None:
    late = """
        1.0 client   sent r2
        7.1 decode-0 guard r2 guard=waiting_timeout why=silence
        7.2 client   refused r2 status=503
    """
    (verdict,) = judge(told(SENT + GUARD + REFUSED + late + QUIET))
    assert verdict.outcome is Outcome.SILENT


def test_silence_of_one_among_those_that_were_caught_is_not_claimed_blindly() -> None:
    load = played(SENT + GUARD + REFUSED + "1.0 client sent r2")
    table = history(load, control=CONTROL, strikes=[strike()], alerts=[PINNED])
    assert [verdict.outcome for verdict in judge(table)] == [Outcome.UNKNOWN]


WELL = SENT.replace("sent r1", "sent r1 routing_key=k") + RIGHT + finished(1.5)


def without(word: str, table: str) -> str:
    return "\n".join(line for line in table.splitlines() if word not in line)


def judged(table: str, control: str = CONTROL) -> tuple[Outcome, str]:
    (verdict,) = judge(history(table, control=control, strikes=[strike()]))
    return verdict.outcome, verdict.reason


def test_a_stack_whose_resources_nobody_read_is_not_called_well() -> None:
    assert judged(played(WELL))[0] is Outcome.TOLERATED
    blind = without("resource", played(WELL)), without("resource", CONTROL)
    assert judged(*blind) == (Outcome.UNKNOWN, "no resource was read before the load")
    (verdict,) = judge(history(without("resource", CONTROL)))
    assert verdict.outcome is Outcome.UNKNOWN


def test_keys_that_no_worker_was_seen_to_take_are_not_called_well() -> None:
    """Or a trace that never came would prove that every session stayed where it was."""
    outcome, reason = judged(played(WELL), without("stage=intake", CONTROL))
    assert outcome is Outcome.UNKNOWN
    assert "no worker told" in reason


def test_all_that_nobody_looked_at_is_told() -> None:
    blind = without("recover/lone", played(WELL)), without("stage=intake", CONTROL)
    outcome, reason = judged(*blind)
    assert outcome is Outcome.UNKNOWN
    assert "the lone request was never sent" in reason
    assert "no worker told" in reason


@pytest.mark.parametrize(("left", "outcome"), [(0, Outcome.TOLERATED), (1, Outcome.UNKNOWN)])
def test_one_page_more_than_at_the_start_is_unknown_where_the_control_could_not_be_read(
    left: int, outcome: Outcome
) -> None:
    control = CONTROL.replace("2.9  resource  reading  prefill-0/pages  value=0", "")
    after = RECOVERED.replace("pages  value=0", f"pages  value={left}")
    load = SENT + RIGHT + finished(1.5)
    (verdict,) = judge(history(played(load, after=after), control=control, strikes=[strike()]))
    assert verdict.outcome is outcome
    assert ("after the control's load" in verdict.reason) == (outcome is Outcome.UNKNOWN)
