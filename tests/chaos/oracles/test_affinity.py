"""Goal: a key leaves its worker when it must, and only then. Method: histories by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.history import History
from chaos.oracles.affinity import KeysStay
from chaos.specification import StrikeSpec
from chaos.stage import FaultKind
from chaos.verdict import Answer
from tests.chaos.table import SPECIFICATION, history, strike

ORACLE = KeysStay()
STICKY = replace(SPECIFICATION, guards={"sticky_sessions": 2.0})
KILL = strike("kill decode-0", FaultKind.KILLED)
STRUCK = """
    2.0 fault struck 'kill decode-0' bit=true node=decode-0
    9.0 fault healed 'kill decode-0' bit=true
"""


def turn(at_s: float, request_id: str, worker: str | None, key: str = "k") -> str:
    sent = f"{at_s} client sent {request_id} routing_key={key}\n"
    intake = f"{at_s + 0.1} {worker} stage {request_id} stage=intake attempt=1\n"
    return sent + (intake if worker else "")


def played(*turns: str, struck: str = "", strikes: tuple[StrikeSpec, ...] = ()) -> History:
    end = "12.0 run phase done"
    table = "\n".join((*turns, struck, end))
    return history(table, strikes=strikes, specification=STICKY)


def test_it_holds_when_a_key_stays() -> None:
    stays = played(turn(1, "r1", "decode-0"), turn(3, "r2", "decode-0"))
    assert ORACLE.judge(stays).answer is Answer.HOLDS


def test_a_key_that_leaves_a_healthy_worker_is_a_violation() -> None:
    finding = ORACLE.judge(played(turn(1, "r1", "decode-0"), turn(3, "r2", "decode-1")))
    assert finding.answer is Answer.VIOLATED
    assert "left decode-0, which was healthy" in finding.reason
    assert finding.about == ("key k",)


def test_each_role_and_each_key_has_a_worker_of_its_own() -> None:
    finding = ORACLE.judge(
        played(
            turn(1, "r1", "decode-0"),
            "1.2 prefill-1 stage r1 stage=intake attempt=1",
            turn(3, "r2", "decode-1", key="other"),
        )
    )
    assert finding.answer is Answer.HOLDS


def test_a_key_may_leave_a_worker_that_was_struck() -> None:
    turns = (turn(1, "r1", "decode-0"), turn(3, "r2", "decode-1"))
    assert ORACLE.judge(played(*turns, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS


def test_a_key_may_not_leave_before_the_strike_or_because_another_worker_was_struck() -> None:
    early = (turn(1, "r1", "decode-0"), turn(1.5, "r2", "decode-1"))
    assert ORACLE.judge(played(*early, struck=STRUCK, strikes=(KILL,))).answer is Answer.VIOLATED
    other = (turn(1, "r1", "decode-1"), turn(3, "r2", "decode-2"))
    assert ORACLE.judge(played(*other, struck=STRUCK, strikes=(KILL,))).answer is Answer.VIOLATED
    similar = (turn(1, "r1", "decode-01"), turn(3, "r2", "decode-2"))
    assert ORACLE.judge(played(*similar, struck=STRUCK, strikes=(KILL,))).answer is Answer.VIOLATED


def test_a_key_may_come_home_once_and_one_strike_excuses_one_departure() -> None:
    home = (
        turn(1, "r1", "decode-0"),
        turn(3, "r2", "decode-1"),
        turn(10, "r3", "decode-0"),
    )
    assert ORACLE.judge(played(*home, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS
    again = (*home, turn(11, "r4", "decode-1"))
    assert ORACLE.judge(played(*again, struck=STRUCK, strikes=(KILL,))).answer is Answer.VIOLATED


def test_turns_are_in_the_order_in_which_workers_took_them() -> None:
    slow = (
        "1.0 client sent r1 routing_key=k",
        turn(2, "r2", "decode-0"),
        turn(3, "r3", "decode-0"),
        "4.0 decode-1 stage r1 stage=intake attempt=1",
    )
    assert (
        "left decode-0, which was healthy, for decode-1: r1" in ORACLE.judge(played(*slow)).reason
    )


def test_who_came_home_has_used_it_up() -> None:
    turns = [
        turn(at_s, f"r{at_s}", worker)
        for at_s, worker in (
            (1, "decode-0"),
            (3, "decode-1"),  # excused: it was struck
            (15, "decode-0"),  # home
            (16, "decode-1"),
            (17, "decode-0"),
        )
    ]
    table = "\n".join((*turns, STRUCK, "20.0 run phase done"))
    reason = ORACLE.judge(history(table, strikes=[KILL], specification=STICKY)).reason
    assert "r16" in reason
    assert "r17" in reason


def test_a_key_may_leave_from_the_moment_of_the_strike_to_that_of_its_end() -> None:
    at_once = (turn(1, "r1", "decode-0"), turn(1.9, "r2", "decode-1"))
    assert ORACLE.judge(played(*at_once, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS
    last = (
        turn(1, "r1", "decode-0"),
        turn(3, "r2", "decode-1"),
        turn(5, "r3", "decode-0"),
        turn(8.9, "r4", "decode-1"),
    )
    assert ORACLE.judge(played(*last, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS


@pytest.mark.parametrize(("at_s", "answer"), [(13.9, Answer.HOLDS), (14.0, Answer.VIOLATED)])
def test_a_key_may_leave_for_as_long_as_a_healed_worker_has_to_recover(
    at_s: float, answer: Answer
) -> None:
    late = (turn(1, "r1", "decode-0"), turn(at_s, "r2", "decode-1"))  # healed at 9, recover_s is 5
    table = "\n".join((*late, STRUCK, "20.0 run phase done"))
    assert ORACLE.judge(history(table, strikes=[KILL], specification=STICKY)).answer is answer


def test_a_key_may_come_home_at_any_time() -> None:
    turns = (turn(1, "r1", "decode-0"), turn(3, "r2", "decode-1"), turn(18, "r3", "decode-0"))
    table = "\n".join((*turns, STRUCK, "20.0 run phase done"))
    told = ORACLE.judge(history(table, strikes=[KILL], specification=STICKY))
    assert told.answer is Answer.HOLDS


def test_a_key_that_does_not_leave_its_dead_worker_is_a_violation() -> None:
    kept = (
        turn(1, "r1", "decode-0"),
        turn(1.2, "q1", "decode-1", key="other"),
        turn(5, "r2", None),
    )
    finding = ORACLE.judge(played(*kept, struck=STRUCK, strikes=(KILL,)))
    assert finding.answer is Answer.VIOLATED
    assert "still sent to decode-0" in finding.reason


def test_a_key_has_the_bound_to_leave_its_dead_worker() -> None:
    soon = (
        turn(1, "r1", "decode-0"),
        turn(1.2, "q1", "decode-1", key="other"),
        turn(3.9, "r2", None),
    )
    assert ORACLE.judge(played(*soon, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS


@pytest.mark.parametrize(("at_s", "answer"), [(4.0, Answer.HOLDS), (4.01, Answer.VIOLATED)])
def test_the_bound_of_a_dead_worker_is_exact(at_s: float, answer: Answer) -> None:
    """And a turn that another one took in the moment of the death says nothing of where it was."""
    kept = (
        turn(1, "r1", "decode-0"),
        turn(1.2, "q1", "decode-1", key="other"),
        "1.9 client sent r2 routing_key=k",
        "2.0 decode-1 stage r2 stage=intake attempt=1",
        turn(at_s, "r3", None),
    )
    assert ORACLE.judge(played(*kept, struck=STRUCK, strikes=(KILL,))).answer is answer


def test_a_turn_that_is_sent_when_the_worker_is_back_is_no_prisoner() -> None:
    for at_s, answer in ((8.9, Answer.VIOLATED), (9.0, Answer.HOLDS)):
        back = (
            turn(1, "r1", "decode-0"),
            turn(1.2, "q1", "decode-1", key="other"),
            turn(at_s, "r2", None),
        )
        assert ORACLE.judge(played(*back, struck=STRUCK, strikes=(KILL,))).answer is answer


def test_a_key_lives_where_its_last_turn_was() -> None:
    """It strayed to decode-0 before that was killed, which is the first finding of two."""
    turns = (turn(1, "r1", "decode-1"), turn(1.5, "r2", "decode-0"), turn(5, "r3", None))
    told = ORACLE.judge(played(*turns, struck=STRUCK, strikes=(KILL,)))
    assert "still sent to decode-0" in told.reason


def test_a_key_need_not_leave_when_there_is_nowhere_to_go() -> None:
    alone = (turn(1, "r1", "decode-0"), turn(5, "r2", None))
    assert ORACLE.judge(played(*alone, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS


def test_that_the_sticky_guard_is_off_is_no_excuse() -> None:
    moved = turn(1, "r1", "decode-0") + turn(3, "r2", "decode-1")
    assert ORACLE.judge(history(moved)).answer is Answer.VIOLATED


def test_without_keys_there_is_nothing_to_judge() -> None:
    plain = history("1.0 client sent r1", specification=STICKY)
    assert ORACLE.judge(plain).answer is Answer.UNKNOWN


def test_a_run_that_was_cut_off_before_any_intake_proves_nothing() -> None:
    assert ORACLE.judge(played(turn(1, "r1", None))).answer is Answer.UNKNOWN


def test_a_frozen_worker_keeps_its_keys_since_nobody_can_tell_it_from_a_slow_one() -> None:
    frozen = (
        turn(1, "r1", "decode-0"),
        turn(1.2, "q1", "decode-1", key="other"),
        turn(5, "r2", None),
    )
    freeze = strike("kill decode-0", FaultKind.FROZEN)
    assert ORACLE.judge(played(*frozen, struck=STRUCK, strikes=(freeze,))).answer is Answer.HOLDS


def test_a_key_of_another_worker_is_no_prisoner_of_the_dead_one() -> None:
    other = (
        turn(1, "r1", "decode-0"),
        turn(1.2, "q1", "decode-1", key="other"),
        turn(5, "q2", None, key="other"),  # reached nobody, but not because of decode-0
    )
    assert ORACLE.judge(played(*other, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS


def test_a_turn_that_another_worker_served_left_its_dead_one() -> None:
    left = (
        turn(1, "r1", "decode-0"),
        turn(1.2, "q1", "decode-1", key="other"),
        turn(5, "r2", "decode-1"),
    )
    assert ORACLE.judge(played(*left, struck=STRUCK, strikes=(KILL,))).answer is Answer.HOLDS


def test_the_other_leg_does_not_serve_for_the_dead_one() -> None:
    kept = (
        turn(1, "r1", "decode-0"),
        turn(1.2, "q1", "decode-1", key="other"),
        turn(5, "r2", "prefill-0"),
    )
    told = ORACLE.judge(played(*kept, struck=STRUCK, strikes=(KILL,)))
    assert told.answer is Answer.VIOLATED


def test_a_key_that_strayed_without_need_strays_again_on_its_way_home() -> None:
    turns = (turn(1, "r1", "decode-0"), turn(3, "r2", "decode-1"), turn(4, "r3", "decode-0"))
    finding = ORACLE.judge(played(*turns))
    assert len(finding.evidence) == 3
    assert finding.reason.count("which was healthy") == 2
