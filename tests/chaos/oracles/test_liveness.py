"""Goal: a hang is a hang only when its bound was over. Method: histories by hand."""

from __future__ import annotations

from chaos.fate import fates
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
    assert finding.reason == "r1 ended unnamed or too late, after 6.90 s"  # nobody told where


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


DONE = "finish_reason=length done=true"
BEGIN = "0.2 run phase disturb\n 1.0 client sent r1\n"
STREAM = BEGIN + "".join(f"{at}.0 client tokens r1 text=a\n" for at in range(2, 12))


def test_a_long_stream_that_ends_is_no_hang_without_a_control_to_compare_it_with() -> None:
    alone = f"{STREAM} 11.5 client finished r1 {DONE}"
    assert ORACLE.judge(history(alone)).answer is Answer.HOLDS
    gap = f"{BEGIN} 7.1 client tokens r1 text=a\n 7.2 client finished r1 {DONE}"
    assert ORACLE.judge(history(gap)).answer is Answer.VIOLATED  # 6.1 s without a token


def test_a_stream_whose_tokens_still_come_is_not_hung_until_it_is_overdue() -> None:
    cut = f"{STREAM} 12.0 run phase recover"
    assert ORACLE.judge(history(cut)).answer is Answer.UNKNOWN
    still = f"{STREAM} 17.0 run phase recover"
    assert ORACLE.judge(history(still)).answer is Answer.VIOLATED
    # In the control it took one second: by 8 s a trickle is no excuse.
    usual = f"{BEGIN} 2.0 client finished r1 {DONE}"
    assert ORACLE.judge(history(cut, control=usual)).answer is Answer.VIOLATED


def test_a_stream_that_goes_on_after_the_heal_had_hung_all_the_same() -> None:
    frozen = "0.2 run phase disturb\n 1.0 client sent r1\n 2.0 client tokens r1 text=a\n"
    struck = "2.1 fault struck S1 bit=true\n 9.0 fault healed S1 bit=true\n"
    thawed = f"{frozen}{struck} 9.1 client tokens r1 text=b\n 10.0 run phase recover"
    long = f"{frozen} 20.0 client finished r1 {DONE}"
    finding = ORACLE.judge(history(thawed, control=long, strikes=[strike()]))
    assert finding.answer is Answer.VIOLATED


def test_a_long_stream_that_ends_is_judged_from_its_last_token() -> None:
    """Struck at once, served for ten seconds, and then ended at once by a guard: caught."""
    struck = "1.5 fault struck S1 bit=true\n"
    ended = "11.2 router guard r1 guard=router_stream_failure\n 11.2 client refused r1 status=500"
    long = f"{BEGIN} 20.0 client finished r1 {DONE}"
    caught = ORACLE.judge(history(f"{STREAM}{struck}{ended}", control=long, strikes=[strike()]))
    assert caught.answer is Answer.HOLDS
    stalled = ended.replace("11.2", "17.5")
    late = ORACLE.judge(history(f"{STREAM}{struck}{stalled}", control=long, strikes=[strike()]))
    assert late.answer is Answer.VIOLATED


def test_a_guard_that_spoke_long_before_the_last_token_did_not_end_it() -> None:
    spoke = "1.4 decode-0 guard r1 guard=waiting_timeout\n"
    struck = "1.3 fault struck S1 bit=true\n"
    late = f"{STREAM}{struck}{spoke} 12.9 client refused r1 status=500"
    long = f"{BEGIN} 10.0 client finished r1 {DONE}"
    (fate,) = fates(history(late, control=long, strikes=[strike()]))
    assert fate.by != "waiting_timeout"


def test_a_second_strike_does_not_excuse_what_was_silent_since_the_first_one() -> None:
    two = (
        "1.1 fault struck S1 bit=true\n 4.0 fault healed S1 bit=true\n"
        "5.5 fault struck S2 bit=true\n 11.0 fault healed S2 bit=true\n"
    )
    tokens = "".join(f"{8 + one / 2} client tokens r1 text=a\n" for one in range(8))
    ended = f"{BEGIN}{two}{tokens} 11.8 client refused r1 status=500"
    long = f"{BEGIN} 20.0 client finished r1 {DONE}"
    finding = ORACLE.judge(history(ended, control=long, strikes=[strike(), strike("S2")]))
    assert finding.answer is Answer.VIOLATED  # 6.9 s
    alone = ended.replace("1.1 fault struck S1 bit=true\n 4.0 fault healed S1 bit=true\n", "")
    finding = ORACLE.judge(history(alone, control=long, strikes=[strike("S2")]))
    assert finding.answer is Answer.HOLDS
