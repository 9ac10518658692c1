"""Goal: each strike gets the verdict it earned. Method: whole histories by hand, judged whole."""

from __future__ import annotations

import pytest

from chaos import judge as judging
from chaos.history import History
from chaos.judge import ORACLES, findings, judge
from chaos.verdict import Answer, Finding, Outcome
from tests.chaos.one_request import (
    GUARD,
    PINNED,
    REFUSED,
    RIGHT,
    SENT,
    STUCK,
    finished,
    one,
    told,
)
from tests.chaos.table import CONTROL, RECOVERED, STRUCK, history, played, strike


def test_a_request_that_is_as_fast_as_in_the_control_tolerated_the_strike() -> None:
    verdict = one(SENT + RIGHT + finished(2.5))  # half a second in the control, and one more
    assert verdict.outcome is Outcome.TOLERATED
    assert verdict.reason == "none of 1 requests was affected"


def test_a_correct_reply_that_is_late_within_the_delay_is_tolerated_with_delay() -> None:
    verdict = one(SENT + RIGHT + finished(3.5))
    assert verdict.outcome is Outcome.TOLERATED
    assert verdict.reason.startswith("with delay")
    assert verdict.about == ("r1",)


def test_a_correct_reply_beyond_the_delay_that_nobody_named_is_silent() -> None:
    verdict = one(SENT + RIGHT + finished(3.6))
    assert verdict.outcome is Outcome.SILENT
    assert verdict.reason == "r1 overran after 2.40 s in admit; no alert fired"


def test_a_late_correct_reply_that_a_guard_named_was_caught() -> None:
    verdict = one(SENT + GUARD + RIGHT + finished(4.0))
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, "waiting_timeout")


def test_a_refusal_that_a_guard_named_in_its_budget_was_caught_by_that_guard() -> None:
    verdict = one(SENT + GUARD + REFUSED)
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, "waiting_timeout")
    assert verdict.after_s == pytest.approx(2.9)  # from the strike
    assert verdict.stage == "admit"
    assert len(verdict.evidence) == 4  # sent, where it stood, the guard, the ending


def test_an_honest_error_that_no_guard_named_names_itself() -> None:
    assert one(SENT + REFUSED).by == "error reply 504"
    assert one(SENT + "4.0 client broke r1 how=transport\n").by == "transport"
    assert one(SENT + "4.0 client broke r1 how=error_event done=true\n").by == "error event"


def test_a_guard_beyond_its_budget_did_not_catch_and_the_reply_names_itself() -> None:
    late = GUARD.replace("3.9", "4.15") + REFUSED.replace("4.0", "4.2")  # budget 3 s, struck at 1.1
    verdict = one(SENT + late)
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, "error reply 504")


def test_a_guard_s_budget_counts_from_the_first_of_several_strikes() -> None:
    before = STRUCK + "3.0 fault struck S2 bit=true\n 3.1 fault healed S2 bit=true\n"
    late = GUARD.replace("3.9", "4.15") + REFUSED.replace("4.0", "4.2")
    table = history(
        played(SENT + late, before), control=CONTROL, strikes=[strike("S1"), strike("S2")]
    )
    assert [verdict.by for verdict in judge(table)] == ["error reply 504"] * 2


def test_a_guard_that_names_another_request_did_not_catch_this_one() -> None:
    verdict = one(SENT + GUARD.replace(" r1 ", " r2 ") + REFUSED)
    assert verdict.by == "error reply 504"


def test_a_guard_that_spoke_long_after_the_ending_only_cleaned_up() -> None:
    cleanup = GUARD.replace("3.9", "2.4")
    assert one(SENT + "2.0 client broke r1 how=transport\n" + cleanup).by == "transport"
    log_line = GUARD.replace("3.9", "2.3")
    assert one(SENT + "2.0 client broke r1 how=transport\n" + log_line).by == "waiting_timeout"


def test_a_guard_that_cleans_up_counts_only_where_no_other_guard_spoke() -> None:
    cleanup = "3.8 decode-0 guard r1 guard=abort_propagation why=gone\n"
    assert one(SENT + cleanup + GUARD + REFUSED).by == "waiting_timeout"
    assert one(SENT + cleanup + REFUSED).by == "abort_propagation"


def test_an_error_later_than_any_budget_is_silent() -> None:
    assert one(SENT + GUARD + REFUSED.replace("4.0", "7.2")).outcome is Outcome.SILENT


def test_a_hung_request_that_nobody_saw_is_silent_and_says_where_it_stood() -> None:
    verdict = one(SENT)
    assert verdict.outcome is Outcome.SILENT
    assert (verdict.stage, verdict.about) == ("admit", ("r1",))
    assert "no alert fired" in verdict.reason


def test_a_hung_request_that_an_alert_showed_in_time_was_surfaced() -> None:
    (verdict,) = judge(told(SENT + STUCK))
    assert (verdict.outcome, verdict.by) == (Outcome.SURFACED, "pinned")
    assert verdict.after_s == pytest.approx(1.9)


def test_an_alert_beyond_the_detection_budget_did_not_surface_it() -> None:
    late = STUCK.replace("2.0", "5.0").replace("3.0", "6.0")
    (verdict,) = judge(told(SENT + late))
    assert verdict.outcome is Outcome.SILENT
    assert "too late" in verdict.reason


def test_an_alert_that_had_fired_before_the_strike_did_not_surface_it() -> None:
    early = STUCK.replace("0.5 ", "0.01 ").replace("2.0", "0.02").replace("3.0", "1.04")
    (verdict,) = judge(told(SENT + early))
    assert verdict.outcome is Outcome.SILENT


def test_an_alert_that_fires_in_the_control_too_does_not_count() -> None:
    load = played(SENT + STUCK)
    crying = CONTROL + "0.5 signal reading prefill-0/inflight value=1\n" * 1
    crying += "2.0 signal reading prefill-0/inflight value=1\n"
    table = history(load, control=crying, strikes=[strike()], alerts=[PINNED])
    assert [verdict.outcome for verdict in judge(table)] == [Outcome.SILENT]


def test_silence_is_not_claimed_when_an_alert_had_nothing_to_look_at() -> None:
    table = history(played(SENT), control=CONTROL, strikes=[strike()], alerts=[PINNED])
    (verdict,) = judge(table)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "nothing to evaluate alert pinned on" in verdict.reason


def test_a_bound_that_did_not_elapse_is_unknown_not_silent() -> None:
    early = RECOVERED.replace("20.", "7.")
    before = STRUCK.replace("9.0", "6.9")
    assert one(SENT, before=before, after=early).outcome is Outcome.UNKNOWN  # 5.9 s of 6


def test_wrong_tokens_are_wrong_even_in_time() -> None:
    verdict = one(SENT + RIGHT.replace("def", "XXX") + finished(1.5))
    assert verdict.outcome is Outcome.WRONG
    assert verdict.about == ("r1",)


def test_a_mute_ending_is_wrong() -> None:
    load = SENT + "2.0 client broke r1 how=truncated done=false tokens=3\n"
    assert one(load).outcome is Outcome.WRONG


def test_a_lone_request_with_wrong_tokens_is_wrong() -> None:
    after = RECOVERED.replace("text=lonelone", "text=lonelXne")
    assert one(SENT + RIGHT + finished(1.5), after=after).outcome is Outcome.WRONG


def test_a_failed_recovery_is_not_recovered() -> None:
    after = RECOVERED.replace("finished recover/lone", "refused recover/lone")
    verdict = one(SENT + RIGHT + finished(1.5), after=after)
    assert (verdict.outcome, verdict.stage) == (Outcome.NOT_RECOVERED, "lifecycle")


def test_a_request_that_no_node_wrote_of_is_told_without_a_stage() -> None:
    verdict = one("1.0 client sent r1\n")
    assert (verdict.outcome, verdict.stage) == (Outcome.SILENT, None)
    assert "None" not in verdict.reason


def test_a_page_that_stays_is_a_leak_even_when_everything_was_caught() -> None:
    after = RECOVERED.replace("pages  value=0", "pages  value=1")
    assert one(SENT + GUARD + REFUSED, after=after).outcome is Outcome.LEAKED


def test_a_resource_that_cannot_be_read_any_more_is_unknown_where_all_else_recovered() -> None:
    after = RECOVERED.replace("reading  prefill-0/pages  value=0", "unreadable prefill-0")
    assert one(SENT + RIGHT + finished(1.5), after=after).outcome is Outcome.UNKNOWN
    after = after.replace("finished recover/lone", "refused recover/lone")
    assert one(SENT + RIGHT + finished(1.5), after=after).outcome is Outcome.NOT_RECOVERED


def test_a_request_that_our_own_client_cancelled_is_tolerated_when_nothing_leaked() -> None:
    cancelled = SENT + "2.0 client cancelled r1\n"
    assert one(cancelled).outcome is Outcome.TOLERATED
    after = RECOVERED.replace("pages  value=0", "pages  value=1")
    leaked = one(cancelled, after=after)
    assert leaked.outcome is Outcome.LEAKED
    assert "r1" in leaked.about  # whose client had left


def test_a_cancelled_request_that_the_stack_cleaned_up_by_name_was_caught() -> None:
    cleaned = "2.9 decode-0 guard r1 guard=abort_propagation why=client-gone\n"
    verdict = one(SENT + "2.0 client cancelled r1\n" + cleaned)
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, "abort_propagation")
    assert verdict.after_s == pytest.approx(1.8)  # from the strike to the guard, not to the client


def test_a_request_that_hung_and_was_then_cancelled_was_still_a_hang() -> None:
    assert one(SENT + "8.0 client cancelled r1\n").outcome is Outcome.SILENT


def test_a_strike_that_did_not_bite_is_a_no_op_whatever_else_happened() -> None:
    before = STRUCK.replace("bit=true", "bit=false")
    assert one(SENT, before=before).outcome is Outcome.NO_OP


def test_our_own_failure_makes_every_verdict_unknown_and_keeps_what_was_seen() -> None:
    verdict = one(SENT + "3.0 fault tool_error S1 why=permission\n")
    assert verdict.outcome is Outcome.UNKNOWN
    assert "r1 hung" in verdict.reason


def test_every_oracle_has_its_say_and_one_that_fails_is_unknown() -> None:
    class Broken:
        name = "broken"

        def judge(self, history: History) -> Finding:
            raise KeyError("bug")

    told_by = findings(told(SENT + GUARD + REFUSED), (*ORACLES, Broken()))
    assert len({one.oracle for one in told_by}) == len(ORACLES) + 1
    assert told_by[-1].answer is Answer.UNKNOWN


def test_an_oracle_that_fails_makes_every_verdict_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: History) -> object:
        raise KeyError("bug")

    monkeypatch.setattr(judging, "cases", fails)
    (verdict,) = judge(told(SENT))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "an oracle failed" in verdict.reason
    assert verdict.strike == "S1"


def test_the_stage_is_where_it_stood_before_it_was_caught_and_not_where_it_was_cleaned_up() -> None:
    stages = """
        1.5  decode-0 stage r1 stage=transfer attempt=7
        3.8  decode-0 stage r1 stage=cleanup attempt=7
        3.95 decode-0 stage r1 stage=ending attempt=7
    """
    assert one(SENT + stages + GUARD + REFUSED).stage == "transfer"


def test_a_hang_stands_where_its_bound_found_it_and_not_where_healing_let_it_go() -> None:
    stages = """
        1.5  prefill-0 stage r1 stage=transfer attempt=7
        9.1  decode-0  stage r1 stage=decode attempt=7
        9.2  decode-0  stage r1 stage=stream attempt=7
        9.3  decode-0  stage r1 stage=cleanup attempt=7
    """
    verdict = one(SENT + stages)
    assert (verdict.outcome, verdict.stage) == (Outcome.SILENT, "transfer")
    assert len(verdict.evidence) == 2  # sent, and where it stood


def test_an_alert_with_nothing_to_look_at_matters_only_where_silence_would_be_claimed() -> None:
    table = history(
        played(SENT + GUARD + REFUSED), control=CONTROL, strikes=[strike()], alerts=[PINNED]
    )
    assert [verdict.outcome for verdict in judge(table)] == [Outcome.CAUGHT]


def test_a_guard_that_ended_a_probe_of_the_recovery_condemned_nothing() -> None:
    after = RECOVERED.replace("finished recover/lone", "refused recover/lone")
    after += "20.5 decode-0 guard recover/lone guard=waiting_timeout\n"
    assert one(SENT + RIGHT + finished(1.5), after=after).outcome is Outcome.NOT_RECOVERED


def test_what_is_read_in_the_last_moment_counts() -> None:
    after = RECOVERED.replace("20.9 resource  reading  prefill-0/pages  value=0", "")
    after = after.replace("21.0 run       phase    done", "20.9 run phase done")
    after += "21.0 resource reading prefill-0/pages value=1\n"
    assert one(SENT + RIGHT + finished(1.5), after=after).outcome is Outcome.LEAKED
