"""Paged split-KV decode attention for grouped-query heads: the kernel and its launcher.

A tile is the query heads of one request that share a KV head. KV is bf16, or e4m3 with one
float32 scale per token and KV head.
"""
# ruff: noqa: ANN001, ANN201, N803, PLR0913, PLR0917 - Triton's own conventions:
#   untyped runtime arguments, capitals for compile-time ones, as many of both as there are
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
# pyright: reportMissingParameterType=false, reportPossiblyUnboundVariable=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false
#   (Triton compiles the bodies; a type checker cannot follow it)

import math

import torch
import triton
import triton.language as tl

from kernels.debug import require_table
from kernels.split_merge import (
    COMBINES,
    GRID_BARRIER,
    MASKED,
    SLICE_COLUMNS,
    Partials,
    SplitLaunch,
    blocks_per_split,
    combine,
    combine_behind_barrier,
    locate,
    require_block,
    require_launchable,
    require_out,
    second_pass,
    used_splits,
)
from kernels.splits import block_tokens_for

HEAD_DIMS = (16, 32, 64, 128)
PAGE_SIZES = tuple(1 << power for power in range(11))  # 1 to 1024
DTYPES = (torch.bfloat16, torch.float32)
E4M3 = torch.float8_e4m3fn


@triton.jit
def attend_block(q, state, key_cache, value_cache, key_scale, value_scale, starts, at, valid,
                 scale_log2e, HEAD_DIM: tl.constexpr, QUANTISED: tl.constexpr):  # fmt: skip
    """One KV block of the online softmax; valid [N] masks the tail.

    starts [N]: where the rows begin in the caches; at [N]: the same places in the scales.
    """
    peak, total, mixed = state
    dims = tl.arange(0, HEAD_DIM)
    keys = tl.load(key_cache + starts[None, :] + dims[:, None], mask=valid[None, :],
                   other=0.0).to(q.dtype)  # fmt: skip
    scores = tl.dot(q, keys, input_precision="ieee") * scale_log2e
    if QUANTISED:
        scores = scores * tl.load(key_scale + at, mask=valid, other=0.0)[None, :]
    scores = tl.where(valid[None, :], scores, MASKED)
    new_peak = tl.maximum(peak, tl.max(scores, 1))
    kept = tl.exp2(peak - new_peak)
    weights = tl.exp2(scores - new_peak[:, None])
    total = total * kept + tl.sum(weights, 1)
    if QUANTISED:
        weights = weights * tl.load(value_scale + at, mask=valid, other=0.0)[None, :]
    values = tl.load(value_cache + starts[:, None] + dims[None, :], mask=valid[:, None],
                     other=0.0).to(q.dtype)  # fmt: skip
    mixed = mixed * kept[:, None]
    mixed += tl.dot(weights.to(q.dtype), values, input_precision="ieee")
    return new_peak, total, mixed


@triton.jit
def attend_split(query, key_cache, value_cache, key_scale, value_scale, block_table, context,
                 partials, lses, tile, split, n_splits, scale_log2e, kv_heads, table_width,
                 page_stride, GROUP: tl.constexpr, BLOCK_HEADS: tl.constexpr,
                 HEAD_DIM: tl.constexpr, PAGE: tl.constexpr, BLOCK_TOKENS: tl.constexpr,
                 QUANTISED: tl.constexpr):  # fmt: skip
    """Attend to the KV blocks of one split; store its normalised output and base-2 LSE."""
    heads = tl.arange(0, BLOCK_HEADS)
    dims = tl.arange(0, HEAD_DIM)
    head_ok = heads < GROUP
    row = tile * GROUP + heads
    q = tl.load(query + row[:, None] * HEAD_DIM + dims[None, :], mask=head_ok[:, None], other=0.0)
    peak = tl.full([BLOCK_HEADS], MASKED, tl.float32)
    total = tl.zeros([BLOCK_HEADS], tl.float32)
    mixed = tl.zeros([BLOCK_HEADS, HEAD_DIM], tl.float32)
    per_split = blocks_per_split(context, n_splits, BLOCK_TOKENS)
    first = split * per_split
    last = tl.minimum(first + per_split, tl.cdiv(context, BLOCK_TOKENS))
    pages = block_table + (tile // kv_heads).to(tl.int64) * table_width
    for block in range(first, last):
        position = block * BLOCK_TOKENS + tl.arange(0, BLOCK_TOKENS)
        valid = position < context
        page = tl.load(pages + position // PAGE, mask=valid, other=0).to(tl.int64)
        row_of_page = (position % PAGE) * kv_heads + tile % kv_heads
        peak, total, mixed = attend_block(
            q, (peak, total, mixed), key_cache, value_cache, key_scale, value_scale,
            page * page_stride + row_of_page * HEAD_DIM, page * (PAGE * kv_heads) + row_of_page,
            valid, scale_log2e, HEAD_DIM, QUANTISED)  # fmt: skip
    at = (row * n_splits + split).to(tl.int64)
    seen = tl.where(total > 0, total, 1.0)
    tl.store(partials + at[:, None] * HEAD_DIM + dims[None, :], mixed / seen[:, None],
             mask=head_ok[:, None])  # fmt: skip
    tl.store(lses + at, peak + tl.log2(seen), mask=head_ok)


@triton.jit(do_not_specialize=["n_tiles", "n_splits", "kv_heads", "table_width"])
def gqa_decode_kernel(query, key_cache, value_cache, key_scale, value_scale, block_table,
                      context_lens, partials, lses, counters, out,
                      n_tiles, n_splits, scale_log2e, kv_heads, table_width, page_stride,
                      GROUP: tl.constexpr, BLOCK_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr,
                      PAGE: tl.constexpr, BLOCK_TOKENS: tl.constexpr, COMBINE: tl.constexpr,
                      SPLIT_FASTEST: tl.constexpr, COLUMNS: tl.constexpr,
                      QUANTISED: tl.constexpr, POLL_TIMEOUT_NS: tl.constexpr):  # fmt: skip
    """Decode attention of one (tile, split), and its part of the merge."""
    tile, split = locate(n_tiles, n_splits, SPLIT_FASTEST)
    context = tl.load(context_lens + tile // kv_heads)
    if split < used_splits(context, n_splits, BLOCK_TOKENS):
        attend_split(query, key_cache, value_cache, key_scale, value_scale, block_table, context,
                     partials, lses, tile, split, n_splits, scale_log2e, kv_heads, table_width,
                     page_stride, GROUP, BLOCK_HEADS, HEAD_DIM, PAGE, BLOCK_TOKENS,
                     QUANTISED)  # fmt: skip
        combine(partials, lses, out, counters, context_lens, tile, split, n_splits,
                kv_heads, GROUP, BLOCK_HEADS, HEAD_DIM, BLOCK_TOKENS, COMBINE, COLUMNS,
                POLL_TIMEOUT_NS)  # fmt: skip
    if COMBINE == GRID_BARRIER:
        combine_behind_barrier(partials, lses, out, counters, context_lens, n_tiles, n_splits,
                               kv_heads, GROUP, BLOCK_HEADS, HEAD_DIM, BLOCK_TOKENS,
                               POLL_TIMEOUT_NS)  # fmt: skip


def gqa_decode(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
               block_table: torch.Tensor, context_lens: torch.Tensor, launch: SplitLaunch, *,
               scales: tuple[torch.Tensor, torch.Tensor] | None = None,
               block_tokens: int | None = None,
               out: torch.Tensor | None = None) -> torch.Tensor:  # fmt: skip
    """Attention of one query token per request over its paged KV.

    query [requests, heads, dim]; caches [pages, page, kv_heads, dim], where pages may lie apart;
    block_table [requests, width] int32; context_lens [requests] int32; scales (key, value), each
    [pages, page, kv_heads] float32, exactly when the caches are e4m3. ValueError otherwise.
    """
    key_scale, value_scale = scales or (None, None)
    require_launchable(query=query, key_page=key_cache[0], value_page=value_cache[0],
                       block_table=block_table, context_lens=context_lens,
                       key_scale=key_scale, value_scale=value_scale, out=out)  # fmt: skip
    require_gqa(query, key_cache, value_cache, block_table, context_lens)
    require_scales(query, key_cache, key_scale, value_scale)
    requests, heads, dim = query.shape
    _, page, kv_heads, _ = key_cache.shape
    group = heads // kv_heads
    tiles = requests * kv_heads
    block_tokens = block_tokens_for(dim) if block_tokens is None else block_tokens
    require_block("block_tokens", block_tokens)
    require_table(block_table, context_lens, key_cache)
    out = require_out(query, out)
    scratch = Partials.allocate(requests * heads, dim, tiles, launch, query.device)
    gqa_decode_kernel[(tiles * launch.splits,)](
        query, key_cache, value_cache, key_scale, value_scale, block_table, context_lens,
        scratch.outputs, scratch.lses, scratch.counters, out,
        tiles, launch.splits, math.log2(math.e) / math.sqrt(dim), kv_heads, block_table.shape[1],
        key_cache.stride(0), GROUP=group, BLOCK_HEADS=max(16, triton.next_power_of_2(group)),
        HEAD_DIM=dim, PAGE=page, BLOCK_TOKENS=block_tokens, COMBINE=COMBINES[launch.combine],
        SPLIT_FASTEST=launch.order == "split_fastest", COLUMNS=SLICE_COLUMNS,
        QUANTISED=scales is not None, POLL_TIMEOUT_NS=launch.poll_timeout_ns,
        num_warps=4, num_stages=3)  # fmt: skip
    if launch.combine == "two_pass":
        second_pass(scratch, out, context_lens, group, block_tokens)
    return out


def require_gqa(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
                block_table: torch.Tensor, context_lens: torch.Tensor) -> None:  # fmt: skip
    """ValueError unless shapes and dtypes are ones the kernel was written for."""
    requests, heads, dim = query.shape
    _, page, kv_heads, cache_dim = key_cache.shape
    if dim not in HEAD_DIMS:
        raise ValueError(f"head dim {dim} is not supported: use one of {HEAD_DIMS}")
    if page not in PAGE_SIZES:
        raise ValueError(f"page size {page} is not supported: use one of {PAGE_SIZES}")
    if cache_dim != dim or value_cache.shape != key_cache.shape:
        raise ValueError(
            f"caches must both be [pages, page, kv_heads, {dim}], got "
            f"{tuple(key_cache.shape)} and {tuple(value_cache.shape)}"
        )
    if value_cache.dtype != key_cache.dtype:
        raise ValueError(
            f"both caches must have one dtype, got {key_cache.dtype} and {value_cache.dtype}"
        )
    if key_cache.stride() != value_cache.stride() or key_cache.stride(0) % 16:
        raise ValueError(f"pages must lie a multiple of 16 values apart: {key_cache.stride()}")
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads do not divide among {kv_heads} KV heads")
    require_index(requests, block_table, context_lens)


def require_index(requests: int, block_table: torch.Tensor, context_lens: torch.Tensor) -> None:
    """ValueError unless block table and lengths are int32 with a row per request."""
    if block_table.shape[0] != requests or context_lens.shape != (requests,):
        raise ValueError(f"block_table and context_lens must have {requests} rows")
    if block_table.dtype != torch.int32 or context_lens.dtype != torch.int32:
        raise ValueError("block_table and context_lens must be int32")


def require_scales(query: torch.Tensor, key_cache: torch.Tensor, key_scale: torch.Tensor | None,
                   value_scale: torch.Tensor | None) -> None:  # fmt: skip
    """ValueError unless the caches have the query's dtype, or e4m3 and one scale per row."""
    if query.dtype not in DTYPES:
        raise ValueError(f"query dtype {query.dtype} is not supported: use one of {DTYPES}")
    if key_cache.dtype not in (query.dtype, E4M3):
        raise ValueError(f"cache dtype {key_cache.dtype}: use {query.dtype} or {E4M3}")
    if (key_cache.dtype == E4M3) != (key_scale is not None):
        raise ValueError("scales belong to e4m3 caches, and only to them")
    for scale in (key_scale, value_scale):
        if scale is not None and (
            scale.shape != key_cache.shape[:3] or scale.dtype != torch.float32
        ):
            raise ValueError(f"scales must be float32 {tuple(key_cache.shape[:3])}")
