"""The split plan: what the knob asks for, what is launched, and what that comes to."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations, product
from pathlib import Path

import pytest

from kernels.splits import (
    TARGET_CTAS,
    WAITING,
    Launch,
    Verdict,
    deadlocks,
    never_started,
    plan,
    target_ctas,
    used_splits,
    waiting_max,
)
from kernels.zones import deadlock_zones, first_deadlock, first_overflow

ROOT = Path(__file__).parents[2]
INCIDENT = Launch((131072,), 8, 32, "spin_all", 128)


def launch_of(combine: str, *contexts: int, tiles: int = 2, block: int = 16) -> Launch:
    return Launch(contexts, tiles, block, combine)


def test_the_plan_needs_neither_torch_nor_triton() -> None:
    code = "import sys, kernels.splits, kernels.shapes; print({'torch', 'triton'} & {*sys.modules})"

    child = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip

    assert child.stdout.strip() == "set()"


@pytest.mark.parametrize("text", ["-1", "0", "many", "1.5", "1e3", "0x10", "٣", "99999999"])
def test_a_knob_that_is_no_whole_number_in_range_is_refused_with_what_is_supported(
    text: str,
) -> None:
    with pytest.raises(ValueError, match=rf"{TARGET_CTAS}: expected a whole number from 1 to"):
        target_ctas({TARGET_CTAS: text}, 188)


@pytest.mark.parametrize(("text", "expected"), [("512", 512), (" 184 ", 184), ("", 188)])
def test_a_knob_that_is_a_number_is_taken_and_an_empty_one_is_the_default(
    text: str, expected: int
) -> None:
    assert target_ctas({TARGET_CTAS: text}, 188) == expected
    assert target_ctas({}, 188) == 188


def test_an_unknown_combine_mode_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="two_pass, last_arriver, owner_spin"):
        launch_of("spin_some", 16)


@pytest.mark.parametrize("target", [1, 7, 8, 100, 184, 188, 189, 512])
def test_rounding_never_overshoots_the_target(target: int) -> None:
    grid = plan(INCIDENT, target, 188, clamp=False).grid

    assert grid <= max(target, INCIDENT.tiles)


def test_a_waiting_kernel_is_clamped_to_what_can_be_resident() -> None:
    held = plan(INCIDENT, 512, 188)

    assert (held.wanted, held.splits, held.grid) == (64, 23, 184)
    assert held.clamped
    assert held.verdict is Verdict.SAFE
    assert "clamped from 64 splits" in str(held)


def test_the_others_may_exceed_what_is_resident_and_the_plan_says_so() -> None:
    free = plan(Launch((131072,), 8, 32, "last_arriver"), 512, 188)

    assert free.grid == 512
    assert not free.clamped
    assert free.verdict is Verdict.SAFE
    assert "exceeds residency by 324, but no CTA waits for another" in str(free)


def test_without_the_clamp_the_bad_knob_deadlocks_and_the_good_one_does_not() -> None:
    bad, good = (plan(INCIDENT, target, 188, clamp=False) for target in (512, 184))

    assert (bad.verdict, bad.never_start) == (Verdict.DEADLOCK, 324)
    assert (good.verdict, good.grid) == (Verdict.SAFE, 184)
    assert deadlocks(INCIDENT, 512, 188)
    assert not deadlocks(INCIDENT, 184, 188)


def test_the_plan_prints_everything_it_decided() -> None:
    text = str(plan(INCIDENT, 512, 188, clamp=False))

    for part in (
        "context 131072", "batch 1", "heads 128", f"{TARGET_CTAS}=512", "splits 64", "grid 512",
        "residency 188", "deadlock", "324 never start",
    ):  # fmt: skip
        assert part in text


def test_a_barrier_that_cannot_be_clamped_is_refused() -> None:
    crowded = plan(launch_of("grid_barrier", *([64] * 8)), 16, 15)

    assert crowded.verdict is Verdict.REFUSED
    assert "16 CTAs, all of them wait, 15 fit" in crowded.reason


def test_a_gpu_without_a_free_slot_is_refused() -> None:
    assert plan(INCIDENT, 512, 0).verdict is Verdict.REFUSED


def test_splits_that_the_blocks_do_not_fill_are_empty() -> None:
    # 48 blocks over 47 splits are two each: 24 splits have work, as in the kernels.
    assert used_splits(launch_of("spin_all", 48 * 16, 16, 0), 47) == (24, 1, 1)


@pytest.mark.parametrize("combine", sorted(WAITING))
@pytest.mark.parametrize("residency", range(1, 7))
def test_an_order_that_deadlocks_exists_exactly_from_the_most_that_can_wait(
    combine: str, residency: int
) -> None:
    launch = launch_of(combine, 3 * 16)
    orders = permutations(range(6))

    dead = any(never_started(launch, 3, residency, order) for order in orders)

    assert dead == (waiting_max(launch, 3) >= residency and residency < 6)


@pytest.mark.parametrize("combine", sorted(WAITING))
def test_no_order_is_worse_than_tile_fastest_for_requests_of_equal_length(combine: str) -> None:
    for blocks, splits, residency in product(range(1, 10), range(1, 10), range(1, 40)):
        launch = launch_of(combine, *([blocks * 16] * 2))
        some_order = waiting_max(launch, splits) >= residency

        in_order = never_started(launch, splits, residency) > 0

        assert in_order == (some_order and residency < launch.tiles * splits)


def test_mixed_lengths_can_finish_in_order_and_hang_in_another() -> None:
    launch = launch_of("spin_all", 4 * 16, 8 * 16, tiles=1)
    long_first = sorted(range(16), key=lambda program: (program // 2 == 7, program % 2 == 0))

    assert used_splits(launch, 8) == (4, 8)
    assert never_started(launch, 8, 8) == 0
    assert never_started(launch, 8, 8, long_first) == 8
    assert "another order deadlocks" in plan(launch, 16, 8, clamp=False).reason


def test_mixed_lengths_leave_the_short_requests_out_of_the_wait() -> None:
    launch = launch_of("spin_all", 8 * 16, 16)

    assert used_splits(launch, 8) == (8, 1)
    assert waiting_max(launch, 8) == 14
    assert never_started(launch, 8, 14) == 6  # programs 26 to 31, four of them without work
    assert never_started(launch, 8, 15) == 0


def test_a_longer_context_can_be_safe_where_a_shorter_one_is_not() -> None:
    gqa = Launch((1,), 8, 64, "spin_all")

    zones = deadlock_zones(gqa, 512, 376, 131072)

    assert zones == ((3009, 4096), (6017, 8192), (9025, 131072))
    assert deadlocks(Launch((6144,), 8, 64, "spin_all"), 512, 376)
    assert not deadlocks(Launch((9000,), 8, 64, "spin_all"), 512, 376)


def test_the_first_context_that_hangs_is_predicted_for_an_engines_own_tiles() -> None:
    tiny = Launch((1,), 2, 16, "spin_all")
    hangs_at = first_deadlock(tiny, 32, 12, 4096)

    assert hangs_at == 6 * 16 + 1  # the 7th block: a 7th split of both tiles has work
    assert not deadlocks(Launch((hangs_at - 1,), 2, 16, "spin_all"), 32, 12)
    assert deadlocks(Launch((hangs_at,), 2, 16, "spin_all"), 32, 12)
    assert first_deadlock(tiny, 12, 12, 4096) is None


def test_the_first_grid_above_residency_is_the_smallest_in_batch_and_then_in_context() -> None:
    found = first_overflow(INCIDENT, 512, 188, batch_max=16, context_max=131072)

    assert found == (1, 737)
    short, long = (plan(Launch((c,), 8, 32, "spin_all"), 512, 188, clamp=False) for c in (736, 737))
    assert short.grid <= 188 < long.grid
    assert first_overflow(INCIDENT, 184, 188, batch_max=16, context_max=131072) is None
    assert first_overflow(INCIDENT, 184, 188, batch_max=64, context_max=131072) == (24, 1)
