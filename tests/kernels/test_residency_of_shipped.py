"""The shipped decode kernels: a proof for every launch order, at every residency."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from kernels import splits
from kernels.splits import Launch

Answers = dict[str, Any]
Ask = Callable[[str], Answers]
PLANS = ("1x4", "2x3")
LAYOUTS = ("tile_fastest", "split_fastest")


@pytest.fixture
def shipped(answers: Ask) -> Answers:
    return answers("shipped_experiments.py")


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("combine", splits.COMBINES)
def test_a_launch_is_safe_exactly_when_the_residency_allows_every_order(
    shipped: Answers, combine: str, layout: str, plan: str
) -> None:
    said = shipped[f"{combine} {layout} {plan}"]

    assert [verdict for _, verdict, _ in said] == [
        "SAFE" if safe else "DEADLOCK, proven" for _, _, safe in said
    ]


@pytest.mark.parametrize("combine", ["two_pass", "last_arriver"])
def test_modes_that_do_not_wait_are_safe_with_one_slot(shipped: Answers, combine: str) -> None:
    for layout in LAYOUTS:
        for plan in PLANS:
            assert shipped[f"{combine} {layout} {plan}"][0][:2] == [1, "SAFE"]


@pytest.mark.parametrize("combine", sorted(splits.WAITING))
def test_the_arithmetic_of_the_plan_is_right_in_every_order_that_was_run(
    shipped: Answers, combine: str
) -> None:
    runs = shipped["orders"][combine]

    assert all(run == arithmetic for run, arithmetic in runs)
    assert any(run for run, _ in runs)


def test_200_seeded_orders_give_both_answers_between_8_and_15_slots() -> None:
    launch = Launch((8 * 16,), 2, 16, "spin_all")
    orders = [Random(f"{seed}/launch").sample(range(16), 16) for seed in range(200)]

    hung = {
        resident: sum(splits.never_started(launch, 8, resident, order) > 0 for order in orders)
        for resident in range(8, 16)
    }

    assert hung[8] == 200
    assert 0 < hung[14] < 200
    assert hung[15] == 0
    assert list(hung.values()) == sorted(hung.values(), reverse=True)
