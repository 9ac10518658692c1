"""Model shapes by name: what a context reads, and that they are the kernels' own tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernels.shapes import SHAPES, shape

Ask = Callable[[str], dict[str, Any]]


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_the_tiles_of_its_kernel(answers: Ask, name: str) -> None:
    known = answers("scan_experiments.py tiles")["tiles"]
    own = SHAPES[name]

    block, heads_per_tile = known.get(name, known[own.kernel])

    assert own.block_tokens == block
    assert own.tiles_per_request == own.heads // heads_per_tile


def test_dense_attention_reads_every_token() -> None:
    assert [shape("mla_decode").rows(context) for context in (1, 100, 131072)] == [1, 100, 131072]
    assert shape("mla_decode").launch("spin_all", 100, 2).lengths == (100, 100)


@pytest.mark.parametrize(
    ("name", "context", "rows"),
    [
        ("v4_decode", 100, 100),
        ("v4_decode", 131072, 128 + 1024),
        ("v4_decode-topk", 1024, 128 + 256),
        ("v4_decode-topk", 131072, 128 + 512),  # the indexer chooses no more
    ],
)
def test_sparse_attention_reads_its_window_and_the_compressed_rows(
    name: str, context: int, rows: int
) -> None:
    launch = shape(name).launch("spin_all", context, 1)

    assert launch.contexts == (context,)
    assert launch.lengths == (rows,)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("rows", [1, 97, 129, 500, 640])
def test_the_first_context_is_the_shortest_that_reads_so_many_rows(name: str, rows: int) -> None:
    first = shape(name).first_context(rows, 131072)

    assert first is not None
    assert shape(name).rows(first) >= rows
    assert shape(name).rows(first - 1) < rows


def test_rows_that_no_context_reads_have_no_first_context() -> None:
    assert shape("v4_decode-topk").first_context(641, 131072) is None


def test_residency_is_less_what_is_reserved() -> None:
    mla = shape("mla_decode")

    assert mla.residency("spin_all", "bf16", "rtx-pro-6000") == 188
    assert mla.residency("spin_all", "bf16", "rtx-pro-6000", 10) == 178
    with pytest.raises(ValueError, match="has 188, not 189"):
        mla.residency("spin_all", "bf16", "rtx-pro-6000", 189)
