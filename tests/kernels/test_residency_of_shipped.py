"""The shipped decode kernels under the scheduler: a proof, and not `grid > R`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from kernels import splits
from kernels.splits import Launch

Answers = dict[str, Any]
Ask = Callable[[str], Answers]


@pytest.fixture
def shipped(answers: Ask) -> Answers:
    return answers("shipped_experiments.py")


def test_owner_spin_with_512_ctas_and_188_slots_is_safe(shipped: Answers) -> None:
    assert shipped["owner_spin_with_512_ctas"]["ending"] == "finished"


def test_owner_spin_with_as_many_tiles_as_slots_hangs_only_tile_fastest(shipped: Answers) -> None:
    assert shipped["owner_spin_with_8_tiles"] == {
        "tile_fastest": "deadlock",
        "split_fastest": "finished",
    }


def test_the_same_spin_all_grid_hangs_in_some_launch_orders_and_not_in_others(
    shipped: Answers,
) -> None:
    endings = [ending for ending, _ in shipped["spin_all_in_many_orders"]]

    assert {"deadlock", "finished"} == set(endings)


def test_the_arithmetic_of_the_plan_is_right_in_every_order_that_was_run(shipped: Answers) -> None:
    around = [run for runs in shipped["spin_all_around_8"].values() for run in runs]

    assert all(agrees for _, agrees in [*shipped["spin_all_in_many_orders"], *around])


def test_spin_all_with_a_grid_of_16_hangs_in_all_orders_or_in_none_off_the_edge(
    shipped: Answers,
) -> None:
    endings = {
        int(resident): {ending for ending, _ in runs}
        for resident, runs in shipped["spin_all_around_8"].items()
    }

    assert endings[7] == endings[8] == endings[9] == {"deadlock"}
    assert endings[15] == endings[16] == {"finished"}  # a grid of 16 does not need 16 slots


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


def test_a_grid_barrier_needs_a_slot_for_every_cta_in_any_order(shipped: Answers) -> None:
    assert set(shipped["grid_barriers"]["7"]) == {"deadlock"}
    assert set(shipped["grid_barriers"]["8"]) == {"finished"}


def test_a_short_context_leaves_splits_empty_that_wait_for_nobody(shipped: Answers) -> None:
    # 12 of 16 CTAs have work: in order, the first tile is full with the 11th of them.
    assert shipped["short_contexts"] == {"10": "deadlock", "11": "finished"}


@pytest.mark.parametrize("combine", ["two_pass", "last_arriver"])
def test_modes_that_do_not_wait_finish_with_one_slot_and_with_the_right_values(
    shipped: Answers, combine: str
) -> None:
    assert shipped["modes_that_do_not_wait"][combine] == [["finished", True]] * 2
