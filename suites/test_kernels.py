"""Every kernel against its reference, on the shapes that masks, splits and merges get wrong.

In the interpreter on a CPU, natively where there is a CUDA GPU; in a child process, with a bound
for every answer. What is allowed comes from the reference's own rounding noise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from chaos.reports.allure_report import file_under
from kernels.trials.child import TrialChild

both_caches = pytest.mark.parametrize("dtype", ["bf16", "e4m3"])
both_floats = pytest.mark.parametrize("dtype", ["bf16", "fp32"])
every_combine = pytest.mark.parametrize(
    "combine", ["two_pass", "last_arriver", "owner_spin", "spin_all", "grid_barrier"]
)


@pytest.fixture(autouse=True)
def epic() -> None:
    """These play on no stack: in the report they stand beside the stacks, in one place."""
    file_under("kernels")


@pytest.fixture(scope="module")
def child() -> Iterator[TrialChild]:
    with TrialChild() as running:
        yield running


@every_combine
@both_caches
@pytest.mark.parametrize(
    "shape",
    [
        "masked_tail",
        "one_token_pages",
        "empty_splits",
        "mixed_lengths",
        "empty_request",
        "last_page_of_one",
        "head_dim_128",
    ],
)
def test_gqa_decode_agrees_with_its_reference(
    child: TrialChild, shape: str, dtype: str, combine: str
) -> None:
    child.demand(f"gqa_decode {shape} {dtype} {combine}")


@every_combine
def test_gqa_decode_agrees_in_the_other_order_of_ctas(child: TrialChild, combine: str) -> None:
    child.demand(f"gqa_decode split_fastest {combine}")


@every_combine
@both_caches
@pytest.mark.parametrize("shape", ["one_rank_of_eight", "all_heads"])
def test_mla_decode_agrees_with_its_reference(
    child: TrialChild, shape: str, dtype: str, combine: str
) -> None:
    child.demand(f"mla_decode {shape} {dtype} {combine}")


@every_combine
@both_caches
@pytest.mark.parametrize(
    "shape",
    [
        "window_and_chosen",
        "context_inside_window",
        "holes_fill_a_block",
        "all_heads_full_width",
        "empty_request",
        "split_of_holes",
        "blocks_of_32",
    ],
)
def test_v4_decode_agrees_with_its_reference(
    child: TrialChild, shape: str, dtype: str, combine: str
) -> None:
    child.demand(f"v4_decode {shape} {dtype} {combine}")


@both_caches
@pytest.mark.parametrize(
    "shape",
    [
        "no_prefix",
        "chunk_behind_prefix",
        "mixed_lengths",
        "one_token_pages",
        "one_token_chunk",
        "head_dim_128",
    ],
)
def test_prefill_attention_agrees_with_its_reference(
    child: TrialChild, shape: str, dtype: str
) -> None:
    child.demand(f"prefill_attention {shape} {dtype}")


@both_caches
@pytest.mark.parametrize("dim", [64, 80])
def test_kv_write_stores_each_row_in_its_slot_and_nothing_elsewhere(
    child: TrialChild, dim: int, dtype: str
) -> None:
    child.demand(f"kv_write dim_{dim} {dtype}")


def test_every_e4m3_code_and_every_tie_between_codes_rounds_as_the_standard_says(
    child: TrialChild,
) -> None:
    child.demand("kv_write every_code e4m3")


@pytest.mark.parametrize("values", [2, 130, 3000])
def test_packed_pages_come_back_bit_for_bit(child: TrialChild, values: int) -> None:
    child.demand(f"page_pack {values}_values")


def test_no_flipped_bit_of_a_page_keeps_its_checksum(child: TrialChild) -> None:
    child.demand("page_pack flipped_bit")


@both_floats
@pytest.mark.parametrize("width", [1, 100, 512])
def test_rmsnorm_agrees_with_its_reference(child: TrialChild, width: int, dtype: str) -> None:
    child.demand(f"rmsnorm width_{width} {dtype}")


@both_floats
@pytest.mark.parametrize("dim", [64, 128])
def test_rope_agrees_with_its_reference(child: TrialChild, dim: int, dtype: str) -> None:
    child.demand(f"rope dim_{dim} {dtype}")


@pytest.mark.parametrize("vocabulary", [1, 37, 2500])
def test_greedy_takes_the_first_of_the_largest(child: TrialChild, vocabulary: int) -> None:
    child.demand(f"sample greedy_{vocabulary}")


@pytest.mark.parametrize("vocabulary", [1, 37, 2500])
def test_a_seeded_draw_is_the_one_its_seed_and_position_give(
    child: TrialChild, vocabulary: int
) -> None:
    child.demand(f"sample seeded_{vocabulary}")


def test_seeded_draws_follow_the_softmax(child: TrialChild) -> None:
    child.demand("sample distribution")


def test_the_process_that_runs_this_has_no_torch() -> None:
    assert "torch" not in sys.modules
    assert "triton" not in sys.modules
