"""Goal: a guard is blamed only for ending what moved. Method: histories by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chaos.oracles.false_alarm import NobodyIsCondemned
from chaos.specification import StrikeSpec
from chaos.verdict import Answer, Finding
from tests.chaos.table import history, strike

ORACLE = NobodyIsCondemned()
STRUCK = "1.1 fault struck S1 bit=true\n 5.0 fault healed S1 bit=true\n"
FAILED = "4.0 client refused r1 status=503\n"


def judged(*lines: str, strikes: Sequence[StrikeSpec] = (), struck: str = "") -> Finding:
    table = "\n".join(("1.0 client sent r1", *lines, struck, "9.0 run phase done"))
    return ORACLE.judge(history(table, strikes=strikes))


def guard(at_s: float, name: str) -> str:
    return f"{at_s} decode-0 guard r1 guard={name} why=still"


def test_it_holds_when_a_guard_ends_what_a_strike_has_stopped() -> None:
    finding = judged(guard(3.5, "stream_idle_guard"), FAILED, strikes=[strike()], struck=STRUCK)
    assert finding.answer is Answer.HOLDS
    assert finding.reason == "guards spoke 1 times, and condemned no progress"


def test_a_guard_that_speaks_without_a_strike_is_a_false_alarm_and_is_named() -> None:
    finding = judged(guard(3.5, "waiting_timeout"), FAILED)
    assert finding.answer is Answer.VIOLATED
    assert (finding.by, finding.about) == ("waiting_timeout", ("r1",))


def test_a_guard_that_speaks_before_the_strike_is_a_false_alarm() -> None:
    early = guard(1.05, "waiting_timeout")
    finding = judged(early, FAILED, strikes=[strike()], struck=STRUCK)
    assert finding.answer is Answer.VIOLATED


def test_a_guard_at_the_door_condemns_no_progress() -> None:
    assert judged(guard(3.5, "admission_bounds"), FAILED).answer is Answer.HOLDS


def test_a_router_that_only_reports_what_failed_condemns_nobody() -> None:
    assert judged(guard(3.5, "router_error_reply"), FAILED).answer is Answer.HOLDS


def test_a_guard_may_clean_up_after_our_own_client_gave_up() -> None:
    gone = "3.4 client cancelled r1"
    assert judged(guard(3.5, "abort_propagation"), gone).answer is Answer.HOLDS


def test_who_cleans_up_after_a_request_that_ended_well_condemned_nothing() -> None:
    well = "3.45 client finished r1 finish_reason=stop done=true"
    assert judged(guard(3.5, "abort_propagation"), well).answer is Answer.HOLDS
    assert judged(guard(3.5, "waiting_timeout"), well).answer is Answer.VIOLATED
    assert judged(guard(3.5, "abort_propagation"), FAILED).answer is Answer.VIOLATED


def test_ending_what_a_strike_only_slowed_is_a_false_alarm() -> None:
    slow = strike(alive=True)
    lines = (guard(3.5, "waiting_timeout"), FAILED)
    assert judged(*lines, strikes=[slow], struck=STRUCK).answer is Answer.VIOLATED


def test_a_word_about_a_slowed_request_that_still_ended_well_is_no_false_alarm() -> None:
    well = "4.0 client finished r1 finish_reason=stop done=true"
    lines = (guard(3.5, "waiting_timeout"), well)
    assert judged(*lines, strikes=[strike(alive=True)], struck=STRUCK).answer is Answer.HOLDS


def test_a_guard_of_silence_must_not_end_what_moved_a_moment_ago() -> None:
    moved = "3.0 client tokens r1 text=a"
    soon = (moved, guard(3.9, "stream_idle_guard"), FAILED)  # 0.9 s of a patience of 2 s
    assert judged(*soon, strikes=[strike()], struck=STRUCK).answer is Answer.VIOLATED
    moved = "2.8 client tokens r1 text=a"
    later = (moved, guard(3.9, "stream_idle_guard"), FAILED)
    assert judged(*later, strikes=[strike()], struck=STRUCK).answer is Answer.HOLDS


def test_a_guard_of_a_whole_node_may_end_who_has_only_just_come() -> None:
    came = ("2.0 decode-0 stage r0 stage=decode", "3.7 prefill-0 stage r1 stage=handover")
    ended = (*came, guard(3.9, "step_watchdog"), FAILED)  # decode-0 itself has been still for 1.9 s
    assert judged(*ended, strikes=[strike()], struck=STRUCK).answer is Answer.HOLDS


def test_a_guard_of_a_whole_node_must_not_end_a_node_that_works() -> None:
    works = ("3.5 decode-0 stage r0 stage=decode", guard(3.9, "step_watchdog"), FAILED)
    assert judged(*works, strikes=[strike()], struck=STRUCK).answer is Answer.VIOLATED


def test_a_guard_that_reacts_may_speak_at_once() -> None:
    moved = ("3.0 client tokens r1 text=a", guard(3.1, "router_stream_failure"), FAILED)
    assert judged(*moved, strikes=[strike()], struck=STRUCK).answer is Answer.HOLDS


HERE = (
    "1.1 prefill-0 stage r1 stage=intake attempt=7",
    "1.1 decode-0 stage r1 stage=intake attempt=7",
)


def named(name: str) -> tuple[list[StrikeSpec], str]:
    return [strike(name)], STRUCK.replace("S1", f"'{name}'")


@pytest.mark.parametrize(
    ("target", "guard_name", "ending", "answer"),
    [
        ("decode-0", "kv_verification", FAILED, Answer.HOLDS),
        ("decode-1", "kv_verification", FAILED, Answer.VIOLATED),
        ("prefill-0->decode-1/kv", "kv_verification", FAILED, Answer.VIOLATED),
        ("decode", "kv_verification", FAILED, Answer.HOLDS),  # the role, so each node of it
        ("decode-1", "abort_propagation", FAILED, Answer.VIOLATED),
        ("decode-1", "router_error_reply", FAILED, Answer.HOLDS),  # it only reports
        ("decode-1", "kv_verification", "4.0 client finished r1 finish_reason=stop", Answer.HOLDS),
    ],
)
def test_a_guard_may_end_only_what_a_strike_could_touch(
    target: str, guard_name: str, ending: str, answer: Answer
) -> None:
    strikes, struck = named(f"hurt {target}")
    ending = ending.replace("finish_reason=stop", "finish_reason=stop done=true")
    lines = (*HERE, guard(3.5, guard_name), ending)
    finding = judged(*lines, strikes=strikes, struck=struck)
    assert finding.answer is answer
    if answer is Answer.VIOLATED:
        assert finding.reason.startswith("r1 was touched by no strike")


def test_who_cleans_up_after_another_guard_did_not_end_an_innocent_request() -> None:
    strikes, struck = named("hurt decode-1")
    both = (guard(3.4, "router_stream_failure"), guard(3.5, "abort_propagation"))
    finding = judged(*HERE, *both, FAILED, strikes=strikes, struck=struck)
    assert finding.answer is Answer.HOLDS
    tidied_first = (guard(3.4, "abort_propagation"), guard(3.5, "kv_verification"))
    finding = judged(*HERE, *tidied_first, FAILED, strikes=strikes, struck=struck)
    assert (finding.answer, finding.by) == (Answer.VIOLATED, "kv_verification")


def test_the_specification_may_allow_a_strike_to_hurt_requests_beside_its_nodes() -> None:
    (planned,), struck = named("hurt decode-1")
    lines = (*HERE, guard(3.5, "kv_verification"), FAILED)
    for about, answer in ((("r*",), Answer.HOLDS), (("a*",), Answer.VIOLATED)):
        wide = replace(planned, about=about)
        assert judged(*lines, strikes=[wide], struck=struck).answer is answer


@pytest.mark.parametrize(
    ("client", "answer"),
    [
        ("3.4 client cancelled r1", Answer.HOLDS),
        ("3.7 client cancelled r1", Answer.HOLDS),  # marks of two processes cross
        ("3.8 client cancelled r1", Answer.HOLDS),  # by 0.3 s
        ("3.81 client cancelled r1", Answer.VIOLATED),
    ],
)
def test_that_our_client_gave_up_later_excuses_no_guard(client: str, answer: Answer) -> None:
    assert judged(guard(3.5, "waiting_timeout"), client).answer is answer


def test_what_the_run_itself_asked_after_healing_is_the_affair_of_recovery() -> None:
    probe = "5.0 client sent recover/lone\n 6.0 client refused recover/lone status=503\n"
    spoke = "5.9 decode-0 guard recover/lone guard=waiting_timeout why=still"
    assert judged(probe, spoke).answer is Answer.HOLDS
    asked = probe.replace("recover/lone", "r2"), spoke.replace("recover/lone", "r2")
    assert judged(*asked).answer is Answer.VIOLATED


def test_a_guard_that_waits_for_a_transfer_must_not_end_what_streams() -> None:
    """Its patience is 2 s; steps of work do not count for it, since it waits for the last one."""
    worked = "3.4 prefill-0 stage r1 stage=transfer"
    lines = (worked, guard(3.5, "waiting_timeout"), FAILED)
    assert judged(*lines, strikes=[strike()], struck=STRUCK).answer is Answer.HOLDS
    lines = ("2.6 client tokens r1 text=a", guard(3.5, "waiting_timeout"), FAILED)
    assert judged(*lines, strikes=[strike()], struck=STRUCK).answer is Answer.VIOLATED
    lines = ("2.4 client tokens r1 text=a", guard(3.5, "waiting_timeout"), FAILED)
    assert judged(*lines, strikes=[strike()], struck=STRUCK).answer is Answer.HOLDS


SICK = (
    "2.0 signal reading decode-0/health value=500",
    "2.2 signal reading decode-0/health value=503",
)


def test_a_health_page_that_condemns_a_working_worker_is_a_false_alarm() -> None:
    well = "1.8 signal reading decode-0/health value=200"
    finding = judged(well, *SICK, "2.1 decode-0 stage r1 stage=decode")
    assert finding.answer is Answer.VIOLATED
    assert finding.about == ("decode-0/health",)


def test_a_health_page_may_condemn_a_worker_that_does_no_work() -> None:
    assert judged(*SICK, "2.1 decode-0 stage r1 stage=intake").answer is Answer.HOLDS
    assert judged(*SICK, "2.1 decode-1 stage r1 stage=decode").answer is Answer.HOLDS
    assert judged(*SICK, "2.0 decode-0 stage r1 stage=decode").answer is Answer.HOLDS


def test_a_health_page_may_condemn_a_worker_that_was_struck() -> None:
    work = "2.1 decode-0 stage r1 stage=decode"
    hurt = strike("kill decode-0")
    struck = STRUCK.replace("S1", "'kill decode-0'")
    assert judged(*SICK, work, strikes=[hurt], struck=struck).answer is Answer.HOLDS
    other = strike("kill decode-1")
    struck = STRUCK.replace("S1", "'kill decode-1'")
    assert judged(*SICK, work, strikes=[other], struck=struck).answer is Answer.VIOLATED


def test_a_worker_that_was_struck_must_be_called_well_again_in_time() -> None:
    hurt, struck = named("kill decode-0")  # undone at 5.0, and recover_s is 5
    # The second reading counts.
    for at_s, answer in ((9.6, Answer.HOLDS), (9.8, Answer.HOLDS), (9.9, Answer.VIOLATED)):
        sick = [f"{at_s + d:g} signal reading decode-0/health value=503" for d in (0.0, 0.2)]
        work = f"{at_s + 0.1:g} decode-0 stage r1 stage=decode"
        end = "15.0 run phase done"
        assert judged(*sick, work, end, strikes=hurt, struck=struck).answer is answer


def test_one_bad_answer_of_a_health_page_condemns_nobody() -> None:
    assert judged(SICK[0], "2.1 decode-0 stage r1 stage=decode").answer is Answer.HOLDS


def test_a_run_without_requests_proves_nothing() -> None:
    assert ORACLE.judge(history("0.0 run phase steady")).answer is Answer.UNKNOWN


def test_a_request_that_was_cut_off_after_a_guards_word_was_still_only_slowed() -> None:
    told = judged(guard(3.5, "waiting_timeout"), strikes=[strike(alive=True)], struck=STRUCK)
    assert told.answer is Answer.VIOLATED


def test_a_request_that_met_a_slow_and_a_real_strike_may_be_ended() -> None:
    both = STRUCK + STRUCK.replace("S1", "S2")
    strikes = [strike("S1", alive=True), strike("S2")]
    lines = (guard(3.5, "waiting_timeout"), FAILED)
    assert judged(*lines, strikes=strikes, struck=both).answer is Answer.HOLDS


def test_only_work_and_replies_count_as_moving_and_only_before_the_guard_spoke() -> None:
    arrived = "3.8 decode-0 stage r1 stage=intake"
    later = "3.95 client tokens r1 text=a"
    lines = (arrived, guard(3.9, "stream_idle_guard"), later, FAILED)
    assert judged(*lines, strikes=[strike()], struck=STRUCK).answer is Answer.HOLDS
    worked = arrived.replace("intake", "decode")
    lines = (worked, guard(3.9, "stream_idle_guard"), FAILED)
    assert judged(*lines, strikes=[strike()], struck=STRUCK).answer is Answer.VIOLATED


def test_a_health_page_that_was_well_again_condemned_nobody() -> None:
    well = SICK[1].replace("503", "200")
    assert judged(SICK[0], well, "2.1 decode-0 stage r1 stage=decode").answer is Answer.HOLDS
    sick_again = SICK[1]
    well_first = SICK[0].replace("500", "200")
    work = "2.1 decode-0 stage r1 stage=decode"
    assert judged(well_first, sick_again, work).answer is Answer.HOLDS


def test_what_is_read_as_a_resource_is_no_health_page() -> None:
    lines = [one.replace("signal", "resource") for one in SICK]
    assert judged(*lines, "2.1 decode-0 stage r1 stage=decode").answer is Answer.HOLDS
    other = [one.replace("/health", "/latency_ms") for one in SICK]
    assert judged(*other, "2.1 decode-0 stage r1 stage=decode").answer is Answer.HOLDS
