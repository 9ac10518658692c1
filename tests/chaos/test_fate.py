"""Goal: a guard's budget counts from when a strike began to hurt. Method: histories by hand.

A strike hurts from somewhere in its entry on: a busy machine makes an entry long, and then it may
have hurt only in the end. Nobody may be called late who may have been in time.
"""

from __future__ import annotations

import pytest

from chaos.fate import State, fates
from chaos.judge import judge
from chaos.verdict import Outcome
from tests.chaos.one_request import GUARD, REFUSED, RIGHT, SENT, finished, one, told
from tests.chaos.table import CONTROL, STRUCK, history, played, strike

# waiting_timeout has a budget of 3.0 s; the strike was sent at 1.1 and had entered at 2.1.
SLOW = STRUCK.replace(
    "1.1  fault     struck   S1  bit=true", "2.1 fault struck S1 bit=true entry_s=1"
)


def named(at_s: float, ended_s: float | None = None) -> str:
    guard = f"{at_s} decode-0 guard r1 guard=waiting_timeout why=silence\n"
    return f"{SENT}{guard}{ended_s or at_s} client refused r1 status=504 error=no\n"


@pytest.mark.parametrize(
    ("before", "at_s", "by"),
    [
        (SLOW, 5.1, "waiting_timeout"),  # 3.0 s after it had entered
        (SLOW, 5.2, "error reply 504"),
        (STRUCK, 4.1, "waiting_timeout"),  # 3.0 s after it was sent, and had entered at once
        (STRUCK, 4.2, "error reply 504"),
    ],
)
def test_a_guards_budget_counts_from_the_end_of_a_slow_entry(
    before: str, at_s: float, by: str
) -> None:
    verdict = one(named(at_s), before=before)
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, by)


@pytest.mark.parametrize(
    ("at_s", "ended_s", "by"),
    [
        (4.9, 4.9, "waiting_timeout"),  # it must have hurt by then: nobody knows how long before
        (2.0, 5.0, "waiting_timeout"),
        (2.0, 5.1, "error reply 504"),  # its own word came 3.1 s before the end
    ],
)
def test_a_guard_that_spoke_during_the_entry_has_its_budget_from_its_word_on_at_the_latest(
    at_s: float, ended_s: float, by: str
) -> None:
    slower = SLOW.replace(
        "2.1 fault struck S1 bit=true entry_s=1", "8.5 fault struck S1 bit=true entry_s=7.4"
    )
    patient = slower.replace("9.0 ", "9.9 ")
    verdict = one(named(at_s, ended_s), before=patient)
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, by)


def test_a_slow_entry_makes_no_request_late_that_was_sent_after_it() -> None:
    sent = SENT.replace("1.0 ", "2.5 ").replace("1.05 ", "2.55 ")
    in_time, late = (named(at_s).replace(SENT, sent) for at_s in (5.5, 5.6))
    assert one(in_time, before=SLOW).by == "waiting_timeout"
    assert one(late, before=SLOW).by == "error reply 504"


@pytest.mark.parametrize(("at_s", "caught"), [(3.5, True), (4.5, False)])
def test_a_guard_that_spoke_before_the_last_token_counts_from_the_strike_on(
    at_s: float,
    caught: bool,  # noqa: FBT001 - a row of a table
) -> None:
    """The control was long over by then: it does not put this guard's clock off either."""
    halves = f"1.2 client tokens r1 text=abcdef\n {at_s} client tokens r1 text=ghijkl\n"
    guard = f"{at_s - 0.1} decode-0 guard r1 guard=waiting_timeout why=silence\n"
    verdict = one(SENT + halves + guard + finished(at_s))
    assert (verdict.by == "waiting_timeout") is caught


def test_a_late_answer_to_what_the_control_did_not_ask_is_judged_by_its_own_time() -> None:
    """Nobody knows what it takes: it hung for settle_s before it ended."""
    extra = "1.0 client sent x\n 7.2 client finished x finish_reason=length done=true\n"
    verdict = one(SENT + RIGHT + finished(1.5) + extra)
    assert (verdict.outcome, verdict.about) == (Outcome.SILENT, ("x",))


def test_a_client_that_gave_up_is_no_late_answer() -> None:
    assert one(SENT + "5.0 client cancelled r1\n").outcome is Outcome.TOLERATED


def test_an_answer_that_came_late_stood_where_it_stayed_longest_until_its_end() -> None:
    stages = "1.1 prefill-0 stage r1 stage=transfer attempt=7\n"
    stages += "4.0 decode-0 stage r1 stage=decode attempt=7\n"
    verdict = one(SENT + stages + RIGHT.replace("1.2", "4.4") + finished(4.5))
    assert (verdict.outcome, verdict.stage) == (Outcome.SILENT, "transfer")


def test_prefills_late_word_of_the_handover_does_not_take_a_request_back() -> None:
    decodes = "1.2 decode-0 stage r1 stage=decode attempt=7\n"
    late = "1.3 prefill-0 stage r1 stage=handover attempt=7\n"
    assert one(SENT + decodes + late).stage == "decode"
    assert one(SENT + late + decodes.replace("1.2", "1.4")).stage == "decode"
    again = late.replace("attempt=7", "attempt=8")  # a router that tries again
    assert one(SENT + decodes + again).stage == "handover"


def test_an_answer_within_the_delay_stood_where_it_stayed_longest() -> None:
    stages = (
        "1.1 prefill-0 stage r1 stage=transfer attempt=7\n 3.3 decode-0 stage r1 stage=decode\n"
    )
    (fate,) = fates(told(SENT + stages + RIGHT + finished(3.5)))
    assert (fate.state, fate.stage) == (State.DELAYED, "transfer")


def test_a_guard_may_speak_in_the_moment_in_which_the_strike_began() -> None:
    verdict = one(named(1.1).replace("waiting_timeout", "router_error_reply"))
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, "router_error_reply")


@pytest.mark.parametrize(("at_s", "outcome"), [(7.0, Outcome.WRONG), (7.2, Outcome.SILENT)])
def test_a_truncation_that_came_too_late_is_a_silence(at_s: float, outcome: Outcome) -> None:
    verdict = one(f"{SENT}{at_s} client broke r1 how=truncated\n")
    assert verdict.outcome is outcome
    assert ("r1 overran" in verdict.reason) is (outcome is Outcome.SILENT)


def test_of_several_that_were_late_the_latest_is_told() -> None:
    usual = SENT + RIGHT + finished(1.5)
    late = "".join(
        (SENT + RIGHT.replace("1.2", f"{end_s - 0.1:g}") + finished(end_s)).replace("r1", name)
        for name, end_s in (("r1", 2.7), ("x", 3.3))
    )
    control = CONTROL + usual.replace("r1", "x")
    (verdict,) = judge(history(played(late), control=control, strikes=[strike()]))
    assert (verdict.outcome, verdict.about) == (Outcome.TOLERATED, ("r1", "x"))
    assert verdict.after_s == pytest.approx(1.8)  # from 1.5, when it ended in the control, to 3.3


def test_a_finish_reason_that_nobody_knows_is_told_as_such() -> None:
    reply = "1.9 client finished r1 finish_reason={} done=true\n"
    assert one(SENT + reply.format("moonlight")).by == "unknown finish reason moonlight"
    assert one(SENT + reply.format("abort")).by == "finish reason abort"


def test_a_body_that_is_no_json_is_told_as_such() -> None:
    assert one(f"{SENT}1.9 client broke r1 how=unparsable\n").by == "a body that is not JSON"


def test_who_spoke_of_what_was_no_catch_is_no_evidence() -> None:
    """It was truncated without a sign, whatever a guard said."""
    mute = SENT + GUARD + "4.0 client broke r1 how=truncated\n"
    assert [each.guard for each in fates(told(mute)) if each.life.request_id == "r1"] == [None]
    caught = fates(told(SENT + GUARD + REFUSED))
    assert [each.by for each in caught] == ["waiting_timeout"]
    assert caught[0].guard is not None


def test_a_guard_that_spoke_with_the_last_token_counts_from_where_it_was_served() -> None:
    """To 1.5, when it ended in the control; from the strike at 1.1 on it would be too late."""
    load = SENT + "7.0 client tokens r1 text=abc\n"
    load += (
        "7.0 router guard r1 guard=router_error_reply why=502\n 7.3 client refused r1 status=502\n"
    )
    assert one(load).by == "router_error_reply"


def test_the_stage_that_it_entered_when_it_was_overdue_is_where_it_hung() -> None:
    late = "7.1 decode-0 stage r1 stage=decode attempt=7\n"  # settle_s after the strike
    assert one(SENT + late).stage == "decode"
    assert one(SENT + late.replace("7.1", "7.2")).stage == "admit"


def test_what_was_hurt_while_a_strike_entered_is_decided_whoever_else_was_not() -> None:
    slow = STRUCK.replace(
        "1.1  fault     struck   S1  bit=true", "5 fault struck S1 bit=true entry_s=3.9"
    )
    late = SENT + RIGHT.replace("1.2", "4.4") + finished(4.5)
    well = "1.0 client sent x\n 1.5 client finished x finish_reason=length done=true\n"
    assert one(late + well, before=slow).outcome is Outcome.SILENT


def test_a_strike_that_did_nothing_on_a_busy_machine_may_be_played_again() -> None:
    idle = STRUCK.replace("bit=true", "bit=false")
    verdict = one(
        SENT + RIGHT + finished(1.5) + "1.3 client lag load_generator lag_s=0.9\n", before=idle
    )
    assert (verdict.outcome, verdict.of_machine) == (Outcome.UNKNOWN, True)
