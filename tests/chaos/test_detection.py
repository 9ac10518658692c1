"""Goal: an alert counts for the requests that it tells of, in time. Method: histories by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.judge import judge
from chaos.specification import Alert, StrikeSpec
from chaos.verdict import Outcome, Verdict
from tests.chaos.table import CONTROL, STRUCK, history, played, strike

SENT = "1.0 client sent r1\n"
HERE = """
    1.05 prefill-0 stage r1 stage=intake attempt=7
    1.05 decode-0  stage r1 stage=intake attempt=7
"""
OTHERS = """
    0.3 client sent q
    0.3 prefill-1 stage q stage=intake attempt=1
    0.3 decode-1  stage q stage=intake attempt=1
    0.4 client finished q finish_reason=length done=true
"""
QUIET = "0.5 signal reading prefill-0/load value=0\n"
FREEZE = STRUCK.replace("S1", "'freeze decode-0'")
ALERT = Alert("busy", "*", ">", 1.0, for_s=1.0)


def busy(about: str, at_s: float = 2.0, until_s: float | None = None) -> str:
    """It fires one second later."""
    samples = [(at_s, 2), (at_s + 1.0, 2)] + ([(until_s, 0)] if until_s else [])
    return "".join(f"{at} signal reading {about} value={value}\n" for at, value in samples)


def judged(
    *lines: str, spec: StrikeSpec | None = None, alert: Alert = ALERT, before: str = FREEZE
) -> Verdict:
    control = CONTROL + OTHERS + QUIET
    control += "1.0 client sent r2\n 1.5 client finished r2 finish_reason=length done=true\n"
    skipped = "" if any("sent r2" in one for one in lines) else "1.0 client skipped r2\n"
    table = played("\n".join((OTHERS, QUIET, skipped, *lines)), before)
    strikes = [spec or strike("freeze decode-0")]
    (verdict,) = judge(history(table, control=control, strikes=strikes, alerts=[alert]))
    return verdict


@pytest.mark.parametrize(
    ("lines", "about", "outcome"),
    [
        ((SENT, HERE), "decode-0/load", Outcome.SURFACED),
        ((SENT, HERE), "prefill-0/load", Outcome.SURFACED),
        ((SENT, HERE), "prefill-1/load", Outcome.SILENT),  # it never had to do with that one
        ((SENT, HERE), "router/load", Outcome.SURFACED),  # everybody has to do with the router
        ((SENT, HERE), "router/load{decode-1}", Outcome.SILENT),  # ... which tells of another one
        ((SENT, HERE), "router/load{decode-0}", Outcome.SURFACED),
        ((SENT, HERE), "router/load{prefill-1,decode-0}", Outcome.SURFACED),  # one is enough
        ((SENT, HERE), "prefill-0->decode-0/kv", Outcome.SURFACED),
        ((SENT, HERE), "prefill-0->decode-1/kv", Outcome.SILENT),  # a link needs both of its ends
        ((SENT,), "decode-1/load", Outcome.SILENT),  # nobody tells where it went: not there
        ((SENT,), "decode-0/load", Outcome.SURFACED),  # ... but perhaps to where it was struck
        ((SENT,), "prefill-1/load", Outcome.SURFACED),  # ... and to any prefill
        ((SENT, HERE.splitlines()[1]), "decode-0/load", Outcome.SURFACED),  # frozen, it is mute
        ((SENT, HERE.splitlines()[1]), "decode-1/load", Outcome.SILENT),  # nothing hurt that one
        ((SENT, HERE.splitlines()[2]), "prefill-0/load", Outcome.SILENT),
    ],
)
def test_an_alert_tells_of_the_requests_that_may_hang_on_its_node(
    lines: tuple[str, ...], about: str, outcome: Outcome
) -> None:
    assert judged(*lines, busy(about)).outcome is outcome


def test_one_of_several_strikes_on_its_node_is_enough_for_an_alert_to_tell() -> None:
    prefill_only = HERE.splitlines()[1]
    before = FREEZE + FREEZE.replace("decode-0", "prefill-0")
    lines = "\n".join((OTHERS, QUIET, SENT, prefill_only, busy("decode-0/load")))
    strikes = [strike("freeze decode-0"), strike("freeze prefill-0")]
    usual = CONTROL + OTHERS + QUIET
    told = judge(history(played(lines, before), control=usual, strikes=strikes, alerts=[ALERT]))
    assert [one.outcome for one in told] == [Outcome.SURFACED, Outcome.SURFACED]


def test_where_no_strike_did_anything_to_a_request_it_may_hang_on_any_node() -> None:
    """It was seen on a prefill, and by no decode."""
    never = "\n".join(line for line in FREEZE.splitlines() if "fault" not in line)
    lines = (OTHERS, QUIET, SENT, HERE.splitlines()[1], busy("decode-1/load"))
    table = played("\n".join(lines), never)
    usual = CONTROL + OTHERS + QUIET
    told = judge(history(table, control=usual, strikes=[strike("freeze decode-0")], alerts=[ALERT]))
    assert [one.outcome for one in told] == [Outcome.NO_OP, Outcome.SURFACED]


def test_an_alert_on_the_only_worker_of_a_role_tells_of_every_request() -> None:
    alone = OTHERS.replace("prefill-1", "prefill-0")
    decode_only = HERE.splitlines()[2]
    table = played("\n".join((alone, QUIET, SENT, decode_only, busy("prefill-0/load"))), FREEZE)
    control = CONTROL + alone + QUIET
    strikes = [strike("freeze decode-0")]
    (verdict,) = judge(history(table, control=control, strikes=strikes, alerts=[ALERT]))
    assert verdict.outcome is Outcome.SURFACED


@pytest.mark.parametrize(
    ("ours", "the_controls"),
    [("0.3 client skipped q", OTHERS), ("0.6 signal unreadable prefill-1", "")],
    ids=["only the control used it", "nobody could read it"],
)
def test_a_worker_is_not_alone_in_its_role_where_anybody_wrote_of_another_one(
    ours: str, the_controls: str
) -> None:
    decode_only = HERE.splitlines()[2]
    load = "\n".join((ours, QUIET, SENT, decode_only, busy("prefill-0/load")))
    control = CONTROL + HERE + the_controls + QUIET
    strikes = [strike("freeze decode-0")]
    (verdict,) = judge(
        history(played(load, FREEZE), control=control, strikes=strikes, alerts=[ALERT])
    )
    assert verdict.outcome is Outcome.SILENT


def test_an_alert_that_holds_already_told_of_a_request_at_once() -> None:
    late = SENT.replace("1.0", "5.0"), HERE.replace("1.05", "5.05")
    verdict = judged(*late, busy("decode-0/load"))
    assert (verdict.outcome, verdict.after_s) == (Outcome.SURFACED, 0.0)


def test_an_alert_that_is_declared_to_be_about_the_whole_stack_tells_of_every_request() -> None:
    whole = replace(ALERT, whole_stack=True)
    assert judged(SENT, HERE, busy("prefill-1/load"), alert=whole).outcome is Outcome.SURFACED


def test_under_a_strike_of_which_nobody_tells_what_it_hit_a_mute_node_may_be_meant() -> None:
    decode_only = HERE.splitlines()[2]
    lines = (SENT, decode_only, busy("prefill-1/load"))
    assert judged(*lines, spec=strike("S1"), before=STRUCK).outcome is Outcome.SURFACED


@pytest.mark.parametrize(
    ("fires_from_s", "outcome"),
    [
        (4.1, Outcome.SURFACED),  # fired at 5.1: detect_s after the strike at 1.1
        (4.2, Outcome.SILENT),
        (0.1, Outcome.SURFACED),  # just when it struck
        (0.05, Outcome.SILENT),  # before the strike
    ],
)
def test_an_alert_has_its_time(fires_from_s: float, outcome: Outcome) -> None:
    assert judged(SENT, HERE, busy("decode-0/load", fires_from_s)).outcome is outcome


def test_an_alert_that_fired_when_a_late_request_had_ended_told_of_nothing() -> None:
    ended = "{} client finished r1 finish_reason=length done=true\n"
    late = "3.6 client tokens r1 text=abcdefghijkl\n"
    in_time = judged(SENT, HERE, busy("decode-0/load"), late, ended.format(3.6))
    assert in_time.outcome is Outcome.SURFACED
    just = judged(SENT, HERE, busy("decode-0/load", 2.6), late, ended.format(3.6))
    assert just.outcome is Outcome.SURFACED
    after = judged(SENT, HERE, busy("decode-0/load", 2.7), late, ended.format(3.6))
    assert (after.outcome, "no alert fired" in after.reason) == (Outcome.SILENT, True)


SECOND = "5.0 client sent r2\n 5.0 {0} stage r2 stage=intake attempt=8\n"


@pytest.mark.parametrize(
    ("over_s", "outcome"),
    [(4.9, Outcome.SILENT), (5.0, Outcome.SURFACED), (None, Outcome.SURFACED)],
)
def test_an_alert_that_was_over_when_a_request_was_sent_told_nobody_of_it(
    over_s: float | None, outcome: Outcome
) -> None:
    verdict = judged(SENT, HERE, busy("decode-0/load", 2.0, over_s), SECOND.format("decode-0"))
    assert (verdict.outcome, len(verdict.about)) == (outcome, 2)
    if outcome is Outcome.SURFACED:
        assert verdict.after_s == pytest.approx(1.9)
    else:
        assert "no alert fired for r2" in verdict.reason


def test_who_learns_of_a_node_learns_nothing_of_a_request_that_has_ended() -> None:
    ended = "3.6 client finished r1 finish_reason=length done=true\n"
    r1 = f"{SENT}{HERE}3.6 client tokens r1 text=abcdefghijkl\n{ended}"
    r2 = SECOND.format("decode-0").replace("5.0", "3.7")
    assert judged(r1, r2, busy("decode-0/load", 2.6)).outcome is Outcome.SURFACED
    verdict = judged(r1, r2, busy("decode-0/load", 3.0))
    assert (verdict.outcome, "no alert fired for r1" in verdict.reason) == (Outcome.SILENT, True)


def test_the_first_alert_that_told_is_the_one_that_surfaced() -> None:
    verdict = judged(SENT, HERE, busy("prefill-0/load", 2.5), busy("decode-0/load", 2.0))
    assert "busy fired on decode-0/load 1.90 s after" in verdict.reason


def test_each_request_that_hung_must_have_been_told_of() -> None:
    elsewhere = SECOND.format("decode-1") + "5.0 prefill-1 stage r2 stage=intake attempt=8\n"
    verdict = judged(SENT, HERE, busy("decode-0/load"), elsewhere)
    assert verdict.outcome is Outcome.SILENT
    assert "no alert fired for r2" in verdict.reason
    late = elsewhere + busy("decode-1/load", 9.0) + busy("prefill-1/load", 11.0)
    verdict = judged(SENT, HERE, busy("decode-0/load"), late)
    assert "busy fired on decode-1/load 5.00 s after, too late for r2" in verdict.reason
