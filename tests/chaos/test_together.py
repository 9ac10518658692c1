"""Goal: who answers for what several strikes, or none, may have done. Method: histories by hand."""

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
    STUCK,
    finished,
    one,
    told,
)
from tests.chaos.table import CONTROL, RECOVERED, STRUCK, history, played, strike
from tests.chaos.test_case import TWO


def pages(count: int) -> str:
    return RECOVERED.replace("pages  value=0", f"pages  value={count}")


def both_after(load: str, after: str = RECOVERED) -> dict[str, Verdict]:
    strikes = [strike("S1"), strike("S2")]
    verdicts = judge(history(played(load, TWO, after), control=CONTROL, strikes=strikes))
    return {verdict.strike: verdict for verdict in verdicts}


WELL_ENDED = SENT + RIGHT + finished(1.5)


@pytest.mark.parametrize(
    ("load", "after", "outcome"),
    [
        (SENT + RIGHT.replace("def", "XXX") + finished(2.5), RECOVERED, Outcome.WRONG),
        (WELL_ENDED, pages(1), Outcome.LEAKED),
        (
            WELL_ENDED,
            RECOVERED.replace("finished recover/lone", "refused recover/lone"),
            Outcome.NOT_RECOVERED,
        ),
        (SENT, RECOVERED, Outcome.SILENT),
    ],
)
def test_what_two_strikes_may_have_done_is_charged_to_both_together(
    load: str, after: str, outcome: Outcome
) -> None:
    verdicts = both_after(load, after)
    assert {name: (one.outcome, one.together) for name, one in verdicts.items()} == {
        "S1": (outcome, ("S2",)),
        "S2": (outcome, ("S1",)),
    }
    assert "charged together with S2" in verdicts["S1"].reason


def test_an_accusation_is_as_late_as_the_last_thing_that_shows_it() -> None:
    control, load = CONTROL, ""
    for name, end_s in (("r1", 1.5), ("x", 2.6)):
        load += f"1.0 client sent {name}\n 1.2 client tokens {name} text=other\n"
        load += finished(end_s).replace("r1", name)
    control += "1.0 client sent x\n 1.2 client tokens x text=mine\n"
    control += finished(2.0).replace("r1", "x")
    (verdict,) = judge(history(played(load), control=control, strikes=[strike()]))
    assert (verdict.outcome, verdict.about) == (Outcome.WRONG, ("r1", "x"))
    assert verdict.after_s == pytest.approx(1.5)  # from the strike at 1.1 to 2.6


def test_a_key_that_strayed_under_two_strikes_is_charged_to_both() -> None:
    control = CONTROL + "".join(f"1.0 client sent k{one}\n" for one in (1, 2))
    control += "".join(
        f"1.1 client finished k{one} finish_reason=length done=true\n" for one in (1, 2)
    )
    turns = "".join(
        f"{at} client sent k{one} routing_key=k\n {at} decode-{one} stage k{one} stage=intake\n"
        f"{at} client finished k{one} finish_reason=length done=true\n"
        for one, at in ((1, 1.2), (2, 2.5))
    )
    table = played(WELL_ENDED + turns, TWO)
    strikes = [strike("S1"), strike("S2")]
    verdicts = judge(history(table, control=control, strikes=strikes))
    assert [(one.outcome, one.together) for one in verdicts] == [
        (Outcome.MISROUTED, ("S2",)),
        (Outcome.MISROUTED, ("S1",)),
    ]
    assert {one.stage for one in verdicts} == {"dispatch"}


@pytest.mark.parametrize(("alert", "outcome"), [("", Outcome.SILENT), (STUCK, Outcome.SURFACED)])
def test_who_shares_only_something_lesser_with_a_strike_does_not_share_its_verdict(
    alert: str, outcome: Outcome
) -> None:
    """r1 hung on decode-0, where only one of the two strikes was; both may have broken r2."""
    names = ("S1 on decode-0", "S2 on decode-1")
    before = STRUCK.replace(" S1 ", f" '{names[0]}' ")
    before += f"1.1 fault struck '{names[1]}' bit=true\n9.0 fault healed '{names[1]}' bit=true\n"
    r2 = "1.0 client sent r2\n {} client {} r2 {}\n"
    table = played(QUIET + alert + SENT + r2.format(1.9, "refused", "status=503"), before)
    usual = CONTROL + QUIET + r2.format(1.5, "finished", "finish_reason=length done=true")
    strikes = [strike(one) for one in names]
    first, second = judge(history(table, control=usual, strikes=strikes, alerts=[PINNED]))
    assert (first.outcome, first.together) == (outcome, ())
    assert "charged together" not in first.reason
    assert (second.outcome, second.together) == (Outcome.CAUGHT, (names[0],))


def test_a_false_alarm_under_two_strikes_is_charged_to_both() -> None:
    strikes = [strike("S1", alive=True), strike("S2", alive=True)]
    table = played(SENT + GUARD + REFUSED, TWO)
    verdicts = judge(history(table, control=CONTROL, strikes=strikes))
    assert [(one.outcome, one.together) for one in verdicts] == [
        (Outcome.FALSE_ALARM, ("S2",)),
        (Outcome.FALSE_ALARM, ("S1",)),
    ]


def test_what_a_false_alarm_ended_is_caught_for_no_strike_that_came_after_it() -> None:
    """The guard condemned at 3.9 what had got a token at 3.85; the second strike began at 3.95."""
    load = SENT + "3.85 client tokens r1 text=abcdef\n" + GUARD + REFUSED
    later = TWO.replace(" 2.0 ", " 3.95 ").replace(" 3.0 ", " 5.0 ")
    strikes = [strike("S1"), strike("S2")]
    first, second = judge(history(played(load, later), control=CONTROL, strikes=strikes))
    assert (first.outcome, first.by) == (Outcome.FALSE_ALARM, "waiting_timeout")
    assert first.stage == "admit"  # where the request stood
    assert second.outcome is Outcome.TOLERATED


NEVER = "\n".join(line for line in STRUCK.splitlines() if "fault" not in line)


@pytest.mark.parametrize(
    ("load", "after", "outcome"),
    [
        (SENT, RECOVERED, Outcome.SILENT),
        (SENT + REFUSED, RECOVERED, Outcome.CAUGHT),
        (SENT + RIGHT.replace("def", "XXX") + finished(1.5), RECOVERED, Outcome.WRONG),
        (WELL_ENDED, pages(1), Outcome.LEAKED),
        (
            WELL_ENDED,
            RECOVERED.replace("finished recover/lone", "refused recover/lone"),
            Outcome.NOT_RECOVERED,
        ),
        (WELL_ENDED + "2.0 decode-0 guard decode-0 guard=step_watchdog", RECOVERED,
         Outcome.FALSE_ALARM),
        ("15.0 client sent r1", RECOVERED, Outcome.UNKNOWN),  # we stopped watching it
    ],
)  # fmt: skip
def test_what_no_strike_can_have_done_is_a_verdict_of_its_own(
    load: str, after: str, outcome: Outcome
) -> None:
    verdicts = judge(told(load + QUIET, before=NEVER, after=after))
    assert [one.strike for one in verdicts] == ["S1", "fault-free"]
    assert verdicts[1].outcome is outcome
    assert outcome is not Outcome.FALSE_ALARM or verdicts[1].stage == "observers"
    assert [one.unpromised for one in verdicts] == [False, True]
    assert verdicts[0].outcome in (Outcome.NO_OP, Outcome.UNKNOWN)


def test_a_strike_that_bit_after_the_last_request_answers_for_what_it_left() -> None:
    before = STRUCK.replace("1.1 ", "2.1 ")
    assert one(WELL_ENDED, before=before).outcome is Outcome.NO_OP
    verdict = one(WELL_ENDED, before=before, after=pages(1))
    assert verdict.outcome is Outcome.LEAKED
    no_proof = before.replace("bit=true", "bit=false")
    verdict = one(WELL_ENDED, before=no_proof, after=pages(1))
    assert verdict.outcome is Outcome.NO_OP
    assert "Apart from that: prefill-0/pages is at 1" in verdict.reason


def test_a_strike_whose_entry_outlived_every_request_proves_nothing() -> None:
    slow = STRUCK.replace("1.1 ", "2.1 ").replace("bit=true", "bit=true entry_s=1.0", 1)
    verdict = one(WELL_ENDED, before=slow)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "S1 took 1.00 s to enter, and all had ended meanwhile without it" in verdict.reason
    assert verdict.of_machine
    assert one(WELL_ENDED, before=slow, after=pages(1)).outcome is Outcome.LEAKED


def test_a_leak_that_was_read_is_told_though_another_resource_was_not() -> None:
    control = CONTROL.replace("2.9  resource", "2.9 resource reading a/fds value=3\n2.9 resource")
    before = "0.1 resource reading a/fds value=3\n" + STRUCK
    lost = "20.95 resource unreadable a\n"
    for after, outcome in ((pages(1), Outcome.LEAKED), (RECOVERED, Outcome.UNKNOWN)):
        table = played(WELL_ENDED, before, after + lost)
        (verdict,) = judge(history(table, control=control, strikes=[strike()]))
        assert verdict.outcome is outcome


def test_a_lag_beside_one_that_hung_for_ever_is_not_the_machines_alone() -> None:
    late = "1.0 client sent r2\n 7.9 client refused r2 status=503\n"
    lag = "1.6 client lag load_generator lag_s=0.7\n"
    assert one(late + SENT + RIGHT + finished(1.5) + lag).of_machine
    assert not one(late + SENT + lag).of_machine


def test_a_verdict_tells_no_more_than_there_is() -> None:
    alone = one(SENT + REFUSED)
    assert "charged together" not in alone.reason
    assert "more" not in alone.reason
    assert "r1 caught by error reply 504 after" in alone.reason
    hung = one(SENT)
    assert "r1 hung after 18.90 s in admit" in hung.reason
    many = "".join(f"1.0 client sent x{index}\n" for index in range(7))
    few = "".join(f"1.0 client sent x{index}\n" for index in range(5))
    assert "more" not in one(few + SENT + RIGHT + finished(1.5)).reason
    assert "; and 2 more" in one(many + SENT + RIGHT + finished(1.5)).reason


def test_a_leak_without_an_affected_request_stands_where_cleaning_up_does() -> None:
    assert one(WELL_ENDED, after=pages(1)).stage == "cleanup"
    assert one(SENT + REFUSED, after=pages(1)).stage == "admit"


def test_a_silence_of_exactly_the_bound_is_a_hang() -> None:
    ended = "{} client tokens r1 text=abc\n 7.2 client refused r1 status=503\n"
    assert one(SENT + ended.format(7.1)).outcome is Outcome.SILENT  # struck at 1.1
    assert one(SENT + ended.format(7.05)).outcome is Outcome.CAUGHT
