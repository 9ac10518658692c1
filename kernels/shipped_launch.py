"""A shipped decode launch at full size, as a call of its own launcher, for a GPU that is not there.

Its KV caches are allocated and never touched, so that they cost nothing: what they hold does not
decide who waits for whom, and the prover would say so if it did.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernels.gqa_decode import gqa_decode
from kernels.mla_decode import mla_decode
from kernels.quantised_rows import GROUP, ROPE, Cache, QuantisedRows
from kernels.shapes import shape
from kernels.split_merge import SplitLaunch
from kernels.v4_decode import v4_decode

PAGE = 16
CACHES = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}


def call(  # noqa: PLR0913 - all by name, as JSON has them
    kernel: str, combine: str, dtype: str, *, splits: int, layout: str, context: int, batch: int
) -> Callable[[], object]:
    """The call of the launcher of a named shape."""
    launch = SplitLaunch(splits, combine, layout)
    make = {"gqa_decode": _gqa, "mla_decode": _mla, "v4_decode": _v4}[shape(kernel).kernel]
    return make(kernel, CACHES[dtype], launch, context, batch)


def _empty(*size: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(size, dtype=dtype)


def _integers(*size: int, value: int = 0) -> torch.Tensor:
    return torch.full(size, value, dtype=torch.int32)


def _pages(context: int) -> int:
    return -(-context // PAGE)


def _gqa(
    kernel: str, cache: torch.dtype, launch: SplitLaunch, context: int, batch: int
) -> Callable[[], object]:
    told = shape(kernel)
    size = (_pages(context), PAGE, told.tiles_per_request)
    keys = _empty(*size, told.width, dtype=cache)
    scale = _empty(*size, dtype=torch.float32) if cache.itemsize == 1 else None
    return lambda: gqa_decode(
        _empty(batch, told.heads, told.width), keys, keys, _integers(batch, size[0]),
        _integers(batch, value=context), launch,
        scales=None if scale is None else (scale, scale),
    )  # fmt: skip


def _mla(
    kernel: str, cache: torch.dtype, launch: SplitLaunch, context: int, batch: int
) -> Callable[[], object]:
    told, pages = shape(kernel), _pages(context)
    quantised = cache.itemsize == 1
    return lambda: mla_decode(
        _empty(batch, told.heads, told.width), _empty(batch, told.heads, ROPE),
        _empty(pages, PAGE, told.width, dtype=cache), _empty(pages, PAGE, ROPE),
        _integers(batch, pages), _integers(batch, value=context), launch, softmax_scale=1.0,
        latent_scale=_empty(pages, PAGE, dtype=torch.float32) if quantised else None,
    )  # fmt: skip


def _v4(
    kernel: str, cache: torch.dtype, launch: SplitLaunch, context: int, batch: int
) -> Callable[[], object]:
    told, pages = shape(kernel), _pages(context)
    chosen = told.rows(context) - min(context, told.window)
    return lambda: v4_decode(
        _empty(batch, told.heads, told.width), _rows(cache, told.width, pages, PAGE),
        _rows(cache, told.width, max(1, chosen)), _integers(batch, pages),
        _integers(batch, value=context), _integers(batch, max(1, chosen)),
        _integers(batch, value=chosen), _empty(told.heads, dtype=torch.float32), launch,
        softmax_scale=1.0, window=told.window,
    )  # fmt: skip


def _rows(cache: torch.dtype, width: int, *size: int) -> Cache:
    if cache.itemsize > 1:
        return _empty(*size, width)
    coded = width - ROPE
    return QuantisedRows(
        _empty(*size, coded, dtype=cache), _empty(*size, ROPE),
        _empty(*size, coded // GROUP, dtype=torch.float32),
    )  # fmt: skip
