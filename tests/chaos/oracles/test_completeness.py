"""Goal: no hole in the evidence goes unseen. Method: one hole at a time, in a whole history."""

from __future__ import annotations

import pytest

from chaos.history import History
from chaos.oracles.completeness import NothingIsMissing
from chaos.specification import Alert
from chaos.verdict import Answer, Finding
from tests.chaos.table import CONTROL, RECOVERED, STRUCK, history, played, strike

ORACLE = NothingIsMissing()
LOAD = "1.0 client sent r1\n 1.5 client finished r1 finish_reason=length done=true"


def judged(*lines: str, control: str | None = CONTROL) -> Finding:
    table = played("\n".join((LOAD, *lines)))
    return ORACLE.judge(history(table, control=control, strikes=[strike()]))


def test_it_holds_when_nothing_is_missing() -> None:
    assert judged().answer is Answer.HOLDS


HOLES = [
    ("3.0 fault tool_error S1 why=permission", "the tool itself failed"),
    ("3.0 trace lost decode-0 count=12", "12 marks of nodes were lost"),
    ("1.6 client lag load_generator lag_s=0.51", "late by 0.51 s"),
]


@pytest.mark.parametrize(("line", "why"), HOLES)
def test_each_hole_in_the_run_is_seen(line: str, why: str) -> None:
    finding = judged(line)
    assert finding.answer is Answer.UNKNOWN
    assert why in finding.reason


@pytest.mark.parametrize(("line", "why"), HOLES)
def test_each_hole_in_the_control_is_seen(line: str, why: str) -> None:
    finding = judged(control=f"{CONTROL}\n{line}")
    assert finding.answer is Answer.UNKNOWN
    assert finding.reason.startswith("in the control, ")
    assert why in finding.reason


def test_a_lag_within_the_bound_is_no_hole() -> None:
    assert judged("3.0 client lag load_generator lag_s=0.5").answer is Answer.HOLDS
    assert judged("1.2 client lag load_generator lag_s=0.5").answer is Answer.HOLDS  # r1 waited


@pytest.mark.parametrize(
    ("lag", "answer"),
    [
        ("0.5 client lag load_generator lag_s=0.6", Answer.UNKNOWN),  # r1 was due, and sent late
        ("2.0 client lag load_generator lag_s=0.6", Answer.UNKNOWN),  # r1 ended meanwhile
        ("2.3 client lag load_generator lag_s=0.6", Answer.UNKNOWN),  # told a window later
        ("2.35 client lag load_generator lag_s=0.6", Answer.UNKNOWN),  # to the nanosecond
        ("2.4 client lag load_generator lag_s=0.6", Answer.HOLDS),  # nobody waited
        ("0.49 client lag load_generator lag_s=0.6", Answer.HOLDS),  # r1 was due long after
        ("2.4 decode-0 lag decode-0/engine lag_s=0.8", Answer.UNKNOWN),
    ],
)
def test_a_lag_counts_where_a_request_waited_meanwhile(lag: str, answer: Answer) -> None:
    assert judged(lag).answer is answer


def test_who_got_no_core_is_named() -> None:
    told = judged("2.0 decode-0 lag decode-0/engine lag_s=0.8").reason
    assert "decode-0/engine waited for a core 0.80 s" in told


def test_a_lag_counts_where_it_made_an_alert_fire() -> None:
    """The samples of a gauge that nobody could read meanwhile are of one moment."""
    alert = Alert("busy", "prefill-0/inflight", ">", 0.0, for_s=1.0)
    gauge = "signal reading prefill-0/inflight value=1"
    lag = f"{LOAD}\n2.2 {gauge}\n 3.9 client lag load_generator lag_s=1.6\n 4.0 {gauge}\n"
    told = history(played(lag), control=CONTROL, strikes=[strike()], alerts=[alert])
    assert ORACLE.judge(told).answer is Answer.UNKNOWN
    slow = Alert("slow", "prefill-0/queue", ">", 0.0, for_s=3.0)  # another one's time is its own
    over = lag.replace(
        "3.9 client lag load_generator lag_s=1.6", "2.4 client lag decode-0 lag_s=0.6"
    )
    ends = ((3.9, Answer.UNKNOWN), (4.0, Answer.HOLDS))  # 2.4, lag_s and for_s
    for at_s, answer in ends:
        table = played(over.replace(f"4.0 {gauge}", f"{at_s} {gauge}"))
        told = history(table, control=CONTROL, strikes=[strike()], alerts=[alert, slow])
        assert ORACLE.judge(told).answer is answer, at_s


def test_a_lag_counts_where_it_made_one_of_two_alerts_fire() -> None:
    """... also where the other one had fired before, and at the very ends of its time."""
    early = Alert("early", "decode-0/inflight", ">", 0.0, for_s=0.0)
    late = Alert("late", "prefill-0/inflight", ">", 0.0, for_s=0.0)
    for at_s, answer in (
        (3.9, Answer.UNKNOWN),  # lag_s after it was told
        (3.91, Answer.HOLDS),
        (2.55, Answer.UNKNOWN),  # the lag and the window in which it is told before that
        (2.54, Answer.HOLDS),
    ):
        gauges = (
            f"1.9 signal reading decode-0/inflight value=1\n"
            f"{at_s} signal reading prefill-0/inflight value=1\n"
            "3.4 client lag load_generator lag_s=0.6\n"
        )
        table = played(f"{LOAD}\n{gauges}")
        told = history(table, control=CONTROL, strikes=[strike()], alerts=[early, late])
        assert ORACLE.judge(told).answer is answer, at_s


def test_a_strike_without_a_control_proves_nothing() -> None:
    assert "no control" in judged(control=None).reason


def test_a_fault_free_run_needs_no_control() -> None:
    assert ORACLE.judge(history(CONTROL)).answer is Answer.HOLDS


def test_a_control_that_hung_is_no_reference() -> None:
    hung = CONTROL.replace("1.5  client    finished r1", "1.5  client    tokens   r1")
    assert "in the control, r1 hung" in judged(control=hung).reason


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("refused r1 status=503", "error"),
        ("broke r1 how=error_event", "error"),
        ("finished r1 done=true", "mute"),
    ],
)
def test_a_control_whose_request_failed_excuses_nothing(ending: str, told: str) -> None:
    """Or a run in which the same request fails would count as one that nothing happened to."""
    failed = CONTROL.replace(
        "1.5  client    finished r1  finish_reason=length done=true", f"1.5 client {ending}"
    )
    assert failed != CONTROL
    assert f"in the control, r1 was not answered: {told}" in judged(control=failed).reason


def test_a_reply_with_a_lost_piece_is_a_hole() -> None:
    finding = judged("1.2 client tokens r1 text=abc")
    assert finding.answer is Answer.HOLDS  # nothing is known about the whole reply
    torn = LOAD.replace("done=true", "done=true sha256=00")
    for pieces in ("1.2 client tokens r1 text=abc", ""):  # some were lost, or all of them
        table = played(f"{torn}\n {pieces}")
        told = ORACLE.judge(history(table, control=CONTROL, strikes=[strike()]))
        assert "pieces of r1's reply" in told.reason


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("2.0 client sent r1", "r1 was sent 2 times"),
        ("1.6 client broke r1 how=transport", "r1 ended 2 times"),
        ("1.6 client broke r2 how=transport", "r2 ended, and was never sent"),
    ],
)
def test_two_requests_under_one_name_are_a_hole(line: str, why: str) -> None:
    assert why in judged(line).reason


@pytest.mark.parametrize(
    ("at_s", "answer"),
    [
        (7.1, Answer.UNKNOWN),  # it was about to be called hung
        (7.9, Answer.UNKNOWN),  # the lateness began before that
        (8.1, Answer.HOLDS),  # its bound was over, and so was the time of detection
    ],
)
@pytest.mark.parametrize("ended", ["", "15.0 client refused r1 status=504\n"])
def test_a_lag_does_not_unsay_a_hang_that_was_decided(
    at_s: float, answer: Answer, ended: str
) -> None:
    lag = f"1.0 client sent r1\n {ended} {at_s} client lag load_generator lag_s=0.6"
    told = history(played(lag), control=CONTROL, strikes=[strike()])
    assert ORACLE.judge(told).answer is answer


def test_a_lag_while_a_probe_was_not_served_counts() -> None:
    lag = f"{LOAD}\n 20.4 client lag load_generator lag_s=0.6"
    served = history(played(lag), control=CONTROL, strikes=[strike()])
    assert ORACLE.judge(served).answer is Answer.HOLDS
    after = RECOVERED.replace("finished recover/lone", "refused recover/lone")
    refused = history(played(lag, after=after), control=CONTROL, strikes=[strike()])
    assert ORACLE.judge(refused).answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("probe", "answer"),
    [
        ("refused recover/lone status=503", Answer.HOLDS),  # decided long before
        ("tokens recover/lone text=a", Answer.UNKNOWN),  # it waits to the end
    ],
)
def test_a_lag_after_a_probe_was_refused_changes_nothing(probe: str, answer: Answer) -> None:
    after = RECOVERED.replace("finished recover/lone  finish_reason=length done=true", probe)
    late = f"{LOAD}\n 24.0 client lag load_generator lag_s=0.6"
    told = history(
        played(late, after=after.replace("21.0 run", "30.0 run")),
        control=CONTROL,
        strikes=[strike()],
    )
    assert ORACLE.judge(told).answer is answer


def test_a_lag_within_a_long_stream_counts() -> None:
    tokens = "".join(f"{at_s}.0 client tokens r1 text=a\n" for at_s in range(2, 19))
    long = f"1.0 client sent r1\n{tokens} 19.0 client finished r1 finish_reason=length done=true\n"
    late = f"{long} 16.0 client lag load_generator lag_s=0.6"
    told = history(played(late), control=played(long), strikes=[strike()])
    assert ORACLE.judge(told).answer is Answer.UNKNOWN


def test_a_strike_that_was_never_seen_to_be_undone_is_a_hole() -> None:
    struck = STRUCK.replace("9.0  fault     healed   S1  bit=true", "")
    table = played(LOAD, before=struck)
    told = ORACLE.judge(history(table, control=CONTROL, strikes=[strike()]))
    assert "S1 was never seen to be undone" in told.reason


def test_requests_that_were_never_sent_are_a_hole_unless_they_were_skipped() -> None:
    two = f"{CONTROL}\n 1.6 client sent r2\n 1.7 client finished r2 finish_reason=stop done=true"
    assert "1 requests were never sent: r2" in judged(control=two).reason
    assert judged("1.6 client skipped r2 after=r1", control=two).answer is Answer.HOLDS


def test_requests_that_wait_behind_a_hung_one_are_no_hole() -> None:
    two = f"{CONTROL}\n 1.6 client sent r2\n 1.7 client finished r2 finish_reason=stop done=true"
    table = played("1.0 client sent r1")
    told = ORACLE.judge(history(table, control=two, strikes=[strike()]))
    assert told.answer is Answer.HOLDS


def test_a_run_without_requests_proves_nothing() -> None:
    empty: History = history(f"{STRUCK}\n 21.0 run phase done", strikes=[strike()])
    assert "no request was sent" in ORACLE.judge(empty).reason


def test_a_run_that_was_cut_off_proves_nothing() -> None:
    cut = played(LOAD, after=RECOVERED.replace("21.0 run       phase    done", ""))
    told = ORACLE.judge(history(cut, control=CONTROL, strikes=[strike()]))
    assert "never came to its end" in told.reason


def test_the_worst_lag_counts_wherever_it_stands() -> None:
    lags = [
        f"{at_s} client lag load_generator lag_s={lag_s}"
        for at_s, lag_s in ((1.1, 0.6), (1.2, 0.9), (1.3, 0.2))
    ]
    assert "late by 0.90 s" in judged(*lags).reason
