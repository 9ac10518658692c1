"""Goal: verdicts that were wrong once stay right. Method: small histories by hand, kept as files.

An independent model of the promise was compared with the judge on random histories; each of these
is one kind of difference, made as small as it gets. The sentence says why its verdict is right.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.history_file import read
from chaos.judge import judge

FOLDER = Path(__file__).parent / "histories"

EXPECTED: dict[str, tuple[list[str], str]] = {
    "01_misrouted_before_the_router_can_know": (
        ["kill decode-0: CAUGHT by router_error_reply in 0.30 s"],
        "a key need not leave a dead worker before the router's health checks can have seen it die",
    ),
    "02_hang_before_the_strike_is_caught": (
        ["S1: NO_OP", "fault-free: SILENT in 7.90 s"],
        "it had hung when the strike came, and nobody else met the strike",
    ),
    "03_named_during_the_entry": (
        ["S1: CAUGHT by router_error_reply in 0.10 s"],
        "a strike hurts from the beginning of its entry on, and so does the guard's budget",
    ),
    "04_a_strike_elsewhere_excuses_a_hang": (
        ["S1: SILENT in 11.70 s together with S2", "S2: SILENT in 11.70 s together with S1"],
        "a second strike does not start the clock again",
    ),
    "05_the_culprit_goes_free": (
        ["kill decode-0: SILENT in 16.50 s", "latency on prefill-7->decode-7/kv: TOLERATED"],
        "the later strike was on a link that the request did not use",
    ),
    "06_a_control_that_hung_excuses_a_hang": (
        ["control: SILENT in 18.00 s", "S1: UNKNOWN"],
        "a control that hung itself is no reference",
    ),
    "06b_a_control_that_did_not_recover_accuses": (
        ["control: NOT_RECOVERED in 3.00 s", "S1: UNKNOWN"],
        "without a fault it does not recover either",
    ),
    "07_wrong_is_not_shared": (
        ["S1: WRONG in 1.40 s together with S2", "S2: WRONG in 0.50 s together with S1"],
        "either of two strikes may have made the token wrong",
    ),
    "08_told_and_not_told": (
        [
            "S1: SURFACED by pinned in 0.00 s together with S2",
            "S2: SURFACED by pinned in 0.00 s together with S1",
        ],
        "one request is told of under both of its strikes, or under none",
    ),
    "09_silent_though_an_alert_could_not_be_seen": (
        ["S1: UNKNOWN"],
        "an alert that came too late does not make up for one that could not be looked at",
    ),
    "10_a_watchdog_ends_what_streams": (
        ["freeze decode-1: FALSE_ALARM by prefill_inflight_watchdog in 1.95 s"],
        "its last token came 50 ms before, and no strike could touch it",
    ),
    "10b_a_node_is_condemned_without_a_fault": (
        ["fault-free: FALSE_ALARM by step_watchdog in 1.70 s"],
        "a guard's word about a node is held against it, too",
    ),
    "10c_cancelled_later": (
        ["S1: TOLERATED", "fault-free: FALSE_ALARM by waiting_timeout in 0.50 s"],
        "that the client gave up after the guard had spoken excuses nothing",
    ),
    "11_it_left_a_worker_that_is_struck": (
        ["latency on router->decode-0: TOLERATED"],
        "while the strike on its worker lasts, a key may leave it as often as it comes back",
    ),
    "12_an_aborted_round_makes_the_next_one_wrong": (
        ["S1: CAUGHT by finish reason abort in 0.10 s"],
        "the next round was asked with half a reply in its prompt",
    ),
    "13_every_piece_lost": (["S1: UNKNOWN"], "the digest is that of a whole reply"),
    "13b_sent_twice": (["S1: UNKNOWN"], "it was sent twice, and ended once"),
    "13c_ended_twice": (["S1: UNKNOWN"], "it finished, and then it broke"),
    "14_a_leak_beside_an_unreadable_page": (
        ["S1: LEAKED in 19.90 s"],
        "what leaked was read, whatever else could not be",
    ),
    "14b_a_leak_that_is_nobodys": (
        ["S1: NO_OP", "fault-free: LEAKED in 21.00 s"],
        "the strike never came, and the pages are gone all the same",
    ),
    "14c_not_recovered_that_is_nobodys": (
        ["S1: NO_OP", "fault-free: NOT_RECOVERED in 21.00 s"],
        "the strike never came, and the stack serves nobody all the same",
    ),
    "15_longer_than_the_right_reply": (
        ["S1: WRONG in 0.40 s"],
        "tokens beyond a complete reply are wrong, though an error follows them",
    ),
    "15b_an_empty_json_reply": (
        ["S1: WRONG in 0.40 s"],
        "an empty reply in JSON tells nobody that it failed",
    ),
    "s1_a_page_is_excused_for_ever": (
        ["kill decode-0: FALSE_ALARM in 14.10 s"],
        "it condemns a working worker more than recover_s after the heal",
    ),
    "s2_an_alert_on_another_node": (
        ["freeze decode-0: SILENT in 18.90 s"],
        "the alert is about a node that neither the request nor the strike had to do with",
    ),
    "s3_a_lag_at_the_end_unsays_a_hang": (
        ["S1: SILENT in 18.90 s"],
        "the hang was decided twelve seconds before we were late",
    ),
    "s4_no_op_hides_not_recovered": (
        ["S1: NOT_RECOVERED in 19.90 s"],
        "it took effect after the last request, and nobody was served any more",
    ),
}


def test_every_kept_history_has_its_verdict_written_down() -> None:
    assert {one.stem for one in FOLDER.glob("*.jsonl")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_kept_history_gets_the_verdict_that_it_earned(name: str) -> None:
    verdicts, why = EXPECTED[name]
    told = [
        f"{one.strike}: {one}"
        + (f" together with {'+'.join(one.together)}" if one.together else "")
        for one in judge(read(FOLDER / f"{name}.jsonl"))
    ]
    assert told == verdicts, why
