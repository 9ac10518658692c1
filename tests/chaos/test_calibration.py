"""Goal: a slower stack gets more time and shorter replies, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from chaos.calibration import MARGIN_S, Fitted, calibrated, paced
from chaos.experiment import At, Entering, Experiment, Strike
from chaos.judge import judge
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.traits import Pace
from chaos.verdict import Outcome, caught_by
from chaos.workloads.lone import Lone
from chaos.workloads.steady import Steady
from faults.process import Restart
from tests.chaos.fake_stack import FakeFault
from tests.chaos.table import (
    CONTROL,
    RECOVERED,
    SPECIFICATION,
    history,
    played,
    strike,
)

SLOW = Pace(factor=3.0, usual_restart_s=40.0, restart_s=120.0, tokens_max=100)
LOAD = Steady(requests=2, every_s=0.5, tokens=400)


def experiment(*strikes: Strike, load: Steady | Lone = LOAD) -> Experiment:
    return Experiment("slow", 1, load, strikes, allowed=(caught_by("waiting_timeout"),))


def test_every_time_is_stretched_and_what_is_allowed_stays() -> None:
    made = paced(experiment(Strike(FakeFault(), on=At(1.0), for_s=2.0)), SLOW)
    assert made.strikes[0].on == At(3.0)
    assert made.strikes[0].for_s == 6.0
    assert made.budgets.settle_s == 3 * Budgets().settle_s
    assert made.allowed == (caught_by("waiting_timeout"),)


def test_a_trigger_on_a_stage_stays_what_it_was() -> None:
    on = Entering("r1", Stage.STREAM)
    assert paced(experiment(Strike(FakeFault(), on=on)), SLOW).strikes[0].on == on


def test_replies_are_clipped_and_dues_stretched() -> None:
    requests = paced(experiment(), SLOW).workload.requests(Random(1))
    assert [(one.due_s, one.tokens_max) for one in requests] == [(0.0, 100), (1.5, 100)]
    assert [one.prompt for one in requests] == [one.prompt for one in LOAD.requests(Random(1))]


def test_healing_is_granted_the_restart_of_a_node() -> None:
    assert paced(experiment(), SLOW).budgets.heal_s == 120.0 + MARGIN_S


def test_what_was_due_after_a_restart_waits_for_it() -> None:
    restart = Strike(Restart("prefill-0"), for_s=3.0)
    late, early = Lone("late", due_s=4.0), Lone("early", due_s=2.0)
    due_s = [
        paced(experiment(restart, load=one), SLOW).workload.requests(Random(1))[0].due_s
        for one in (late, early)
    ]
    assert due_s == [4.0 * 3 + 40.0, 2.0 * 3]


def test_the_control_s_slowest_request_is_added_to_what_counts_from_a_request_s_beginning() -> None:
    control = history("""
        1.0 client sent r0
        1.5 client finished r0 finish_reason=length done=true
        2.0 client sent r1
        6.0 client finished r1 finish_reason=length done=true
        7.0 client sent r2
    """)
    made = calibrated(Budgets(), control)
    assert made.settle_s == Budgets().settle_s + 4.0
    assert made.detect_s == Budgets().detect_s + 4.0
    assert made.converge_s == Budgets().converge_s + 4.0
    assert made.recover_s == Budgets().recover_s + 4.0
    assert (made.heal_s, made.lag_s) == (Budgets().heal_s, Budgets().lag_s)


def test_what_is_compared_with_the_control_already_gets_nothing_added() -> None:
    control = history("1.0 client sent r1\n 13.0 client finished r1 finish_reason=length done=true")
    made = calibrated(Budgets(), control)
    assert (made.service_s, made.delay_s) == (Budgets().service_s, Budgets().delay_s)


def test_a_request_that_is_later_than_its_own_control_is_not_excused_by_a_slow_neighbour() -> None:
    slow = """
        1.0  client sent r2
        12.9 client tokens r2 text=zyxwvutsrqpo
        13.0 client finished r2 finish_reason=length done=true
    """
    stalled = """
        1.0  client sent r1
        13.9 client tokens r1 text=abcdefghijkl
        14.0 client finished r1 finish_reason=length done=true
    """
    head, _, _ = CONTROL.partition("2.0  run       phase    heal")
    control = f"{head}{slow}{RECOVERED}"
    budgets = calibrated(SPECIFICATION.budgets, history(control))
    planned = replace(SPECIFICATION, budgets=budgets)
    table = played(stalled + slow)
    (verdict,) = judge(history(table, control=control, strikes=[strike()], specification=planned))
    assert (verdict.outcome, verdict.about) == (Outcome.SILENT, ("r1",))


def test_two_stacks_of_the_same_pace_share_their_controls() -> None:
    assert hash(Fitted(LOAD, 3.0, 100)) == hash(Fitted(LOAD, 3.0, 100))
    assert Fitted(LOAD, 3.0, 100) != Fitted(LOAD, 3.0, 101)


@pytest.mark.parametrize("due_s", [0.0, 1.0])
def test_without_a_strike_nothing_waits_for_a_restart(due_s: float) -> None:
    made = paced(experiment(load=Lone("r", due_s=due_s)), SLOW)
    assert made.workload.requests(Random(1))[0].due_s == due_s * 3
