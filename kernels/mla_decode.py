"""Paged split-KV decode attention for multi-head latent attention: the kernel and its launcher.

DeepSeek-V3's absorbed form: every query head reads the same latent row (512 wide, key and value
at once) and the same RoPE row (64 wide, key only). A tile is 16 query heads of one request. The
latent cache is bf16, or e4m3 with one float32 scale per token; the RoPE cache keeps the query's
dtype, as positions do not survive 8 bits.
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

LATENT_DIMS = (32, 64, 128, 256, 512)  # 512 is the model's; the others are for scaled launches
ROPE_DIMS = (16, 32, 64)
PAGE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
DTYPES = (torch.bfloat16, torch.float32)
E4M3 = torch.float8_e4m3fn
TILE_HEADS = 16
BLOCK_TOKENS = 32  # 64 would need 94 KB of shared memory for no more resident CTAs


@triton.jit
def attend_block(q, q_rope, state, latent_cache, rope_cache, latent_scale, slots, valid,
                 scale_log2e, LATENT: tl.constexpr, ROPE: tl.constexpr,
                 QUANTISED: tl.constexpr):  # fmt: skip
    """One KV block of the online softmax; slots [N] are token slots, valid [N] masks the tail."""
    peak, total, mixed = state
    dims = tl.arange(0, LATENT)
    rope_dims = tl.arange(0, ROPE)
    latents = tl.load(latent_cache + slots[:, None] * LATENT + dims[None, :], mask=valid[:, None],
                      other=0.0).to(q.dtype)  # fmt: skip
    ropes = tl.load(rope_cache + slots[:, None] * ROPE + rope_dims[None, :], mask=valid[:, None],
                    other=0.0)  # fmt: skip
    scores = tl.dot(q, tl.trans(latents), input_precision="ieee")
    if QUANTISED:
        token_scale = tl.load(latent_scale + slots, mask=valid, other=0.0)
        scores = scores * token_scale[None, :]
    scores += tl.dot(q_rope, tl.trans(ropes), input_precision="ieee")
    scores = tl.where(valid[None, :], scores * scale_log2e, MASKED)
    new_peak = tl.maximum(peak, tl.max(scores, 1))
    kept = tl.exp2(peak - new_peak)
    weights = tl.exp2(scores - new_peak[:, None])
    total = total * kept + tl.sum(weights, 1)
    if QUANTISED:
        weights = weights * token_scale[None, :]
    mixed = mixed * kept[:, None]
    mixed += tl.dot(weights.to(q.dtype), latents, input_precision="ieee")
    return new_peak, total, mixed


@triton.jit
def attend_split(query, query_rope, latent_cache, rope_cache, latent_scale, block_table, context,
                 partials, lses, tile, split, n_splits, scale_log2e, tiles_per_request,
                 table_width, HEADS: tl.constexpr, LATENT: tl.constexpr, ROPE: tl.constexpr,
                 PAGE: tl.constexpr, BLOCK_TOKENS: tl.constexpr,
                 QUANTISED: tl.constexpr):  # fmt: skip
    """Attend to the KV blocks of one split; store its normalised output and base-2 LSE."""
    row = tile * HEADS + tl.arange(0, HEADS)
    dims = tl.arange(0, LATENT)
    q = tl.load(query + row[:, None] * LATENT + dims[None, :])
    q_rope = tl.load(query_rope + row[:, None] * ROPE + tl.arange(0, ROPE)[None, :])
    peak = tl.full([HEADS], MASKED, tl.float32)
    total = tl.zeros([HEADS], tl.float32)
    mixed = tl.zeros([HEADS, LATENT], tl.float32)
    per_split = blocks_per_split(context, n_splits, BLOCK_TOKENS)
    first = split * per_split
    last = tl.minimum(first + per_split, tl.cdiv(context, BLOCK_TOKENS))
    pages = block_table + (tile // tiles_per_request).to(tl.int64) * table_width
    for block in range(first, last):
        position = block * BLOCK_TOKENS + tl.arange(0, BLOCK_TOKENS)
        valid = position < context
        page = tl.load(pages + position // PAGE, mask=valid, other=0).to(tl.int64)
        peak, total, mixed = attend_block(
            q, q_rope, (peak, total, mixed), latent_cache, rope_cache, latent_scale,
            page * PAGE + position % PAGE, valid, scale_log2e, LATENT, ROPE,
            QUANTISED)  # fmt: skip
    at = (row * n_splits + split).to(tl.int64)
    seen = tl.where(total > 0, total, 1.0)
    tl.store(partials + at[:, None] * LATENT + dims[None, :], mixed / seen[:, None])
    tl.store(lses + at, peak + tl.log2(seen))


@triton.jit(do_not_specialize=["n_tiles", "n_splits", "tiles_per_request", "table_width"])
def mla_decode_kernel(query, query_rope, latent_cache, rope_cache, latent_scale, block_table,
                      context_lens, partials, lses, counters, out,
                      n_tiles, n_splits, scale_log2e, tiles_per_request, table_width,
                      HEADS: tl.constexpr, LATENT: tl.constexpr, ROPE: tl.constexpr,
                      PAGE: tl.constexpr, BLOCK_TOKENS: tl.constexpr, COMBINE: tl.constexpr,
                      SPLIT_FASTEST: tl.constexpr, COLUMNS: tl.constexpr,
                      QUANTISED: tl.constexpr, POLL_TIMEOUT_NS: tl.constexpr):  # fmt: skip
    """Latent attention of one (tile, split), and its part of the merge."""
    tile, split = locate(n_tiles, n_splits, SPLIT_FASTEST)
    context = tl.load(context_lens + tile // tiles_per_request)
    if split < used_splits(context, n_splits, BLOCK_TOKENS):
        attend_split(query, query_rope, latent_cache, rope_cache, latent_scale, block_table,
                     context, partials, lses, tile, split, n_splits, scale_log2e,
                     tiles_per_request, table_width, HEADS, LATENT, ROPE, PAGE, BLOCK_TOKENS,
                     QUANTISED)  # fmt: skip
        combine(partials, lses, out, counters, context_lens, tile, split, n_splits,
                tiles_per_request, HEADS, HEADS, LATENT, BLOCK_TOKENS, COMBINE, COLUMNS,
                POLL_TIMEOUT_NS)  # fmt: skip
    if COMBINE == GRID_BARRIER:
        combine_behind_barrier(partials, lses, out, counters, context_lens, n_tiles, n_splits,
                               tiles_per_request, HEADS, HEADS, LATENT, BLOCK_TOKENS,
                               POLL_TIMEOUT_NS)  # fmt: skip


def mla_decode(query: torch.Tensor, query_rope: torch.Tensor, latent_cache: torch.Tensor,
               rope_cache: torch.Tensor, block_table: torch.Tensor, context_lens: torch.Tensor,
               launch: SplitLaunch, *, softmax_scale: float,
               latent_scale: torch.Tensor | None = None, block_tokens: int = BLOCK_TOKENS,
               out: torch.Tensor | None = None) -> torch.Tensor:  # fmt: skip
    """Latent attention of one query token per request; the result is in latent space.

    query [requests, heads, latent]; query_rope [requests, heads, rope]; latent_cache
    [pages, page, latent]; rope_cache [pages, page, rope]; block_table [requests, width] int32;
    context_lens [requests] int32; latent_scale [pages, page] float32, exactly when the latent
    cache is e4m3. `softmax_scale` is the model's (1 / sqrt(192) in DeepSeek-V3). ValueError
    otherwise.
    """
    require_launchable(query=query, query_rope=query_rope, latent_cache=latent_cache,
                       rope_cache=rope_cache, block_table=block_table, context_lens=context_lens,
                       latent_scale=latent_scale, out=out)  # fmt: skip
    require_mla(query, query_rope, latent_cache, rope_cache)
    require_index(query.shape[0], block_table, context_lens)
    require_scale(query, latent_cache, latent_scale)
    requests, heads, latent = query.shape
    tiles = requests * heads // TILE_HEADS
    require_block("block_tokens", block_tokens)
    require_table(block_table, context_lens, latent_cache)
    out = require_out(query, out)
    scratch = Partials.allocate(requests * heads, latent, tiles, launch, query.device)
    mla_decode_kernel[(tiles * launch.splits,)](
        query, query_rope, latent_cache, rope_cache, latent_scale, block_table, context_lens,
        scratch.outputs, scratch.lses, scratch.counters, out,
        tiles, launch.splits, math.log2(math.e) * softmax_scale, heads // TILE_HEADS,
        block_table.shape[1], HEADS=TILE_HEADS, LATENT=latent, ROPE=query_rope.shape[-1],
        PAGE=latent_cache.shape[1], BLOCK_TOKENS=block_tokens, COMBINE=COMBINES[launch.combine],
        SPLIT_FASTEST=launch.order == "split_fastest", COLUMNS=SLICE_COLUMNS,
        QUANTISED=latent_scale is not None, POLL_TIMEOUT_NS=launch.poll_timeout_ns,
        num_warps=8 if latent_scale is not None else 4, num_stages=2)  # fmt: skip
    if launch.combine == "two_pass":
        second_pass(scratch, out, context_lens, TILE_HEADS, block_tokens)
    return out


def require_mla(query: torch.Tensor, query_rope: torch.Tensor, latent_cache: torch.Tensor,
                rope_cache: torch.Tensor) -> None:  # fmt: skip
    """ValueError unless the shapes are ones the kernel was written for."""
    _, heads, latent = query.shape
    rope = query_rope.shape[-1]
    page = latent_cache.shape[1]
    if heads % TILE_HEADS:
        raise ValueError(f"{heads} query heads are not supported: use a multiple of {TILE_HEADS}")
    if latent not in LATENT_DIMS or rope not in ROPE_DIMS:
        raise ValueError(
            f"latent dim {latent} with rope dim {rope} is not supported: "
            f"use one of {LATENT_DIMS} with one of {ROPE_DIMS}"
        )
    if page not in PAGE_SIZES:
        raise ValueError(f"page size {page} is not supported: use one of {PAGE_SIZES}")
    if query_rope.shape[:2] != query.shape[:2]:
        raise ValueError("query and query_rope must have the same requests and heads")
    if latent_cache.shape[2] != latent or rope_cache.shape != (*latent_cache.shape[:2], rope):
        raise ValueError(f"caches must be [pages, page, {latent}] and [pages, page, {rope}]")
    if not query_rope.dtype == rope_cache.dtype == query.dtype:
        raise ValueError(
            f"query_rope and rope_cache must have the query's dtype {query.dtype}, got "
            f"{query_rope.dtype} and {rope_cache.dtype}"
        )


def require_index(requests: int, block_table: torch.Tensor, context_lens: torch.Tensor) -> None:
    """ValueError unless block table and lengths are int32 with a row per request."""
    if block_table.shape[0] != requests or context_lens.shape != (requests,):
        raise ValueError(f"block_table and context_lens must have {requests} rows")
    if block_table.dtype != torch.int32 or context_lens.dtype != torch.int32:
        raise ValueError("block_table and context_lens must be int32")


def require_scale(query: torch.Tensor, latent_cache: torch.Tensor,
                  latent_scale: torch.Tensor | None) -> None:  # fmt: skip
    """ValueError unless the latent cache has the query's dtype, or e4m3 and a scale per token."""
    if query.dtype not in DTYPES:
        raise ValueError(f"query dtype {query.dtype} is not supported: use one of {DTYPES}")
    if latent_cache.dtype not in (query.dtype, E4M3):
        raise ValueError(f"latent cache dtype {latent_cache.dtype}: use {query.dtype} or {E4M3}")
    if (latent_cache.dtype == E4M3) != (latent_scale is not None):
        raise ValueError("a scale belongs to an e4m3 cache, and only to it")
    if latent_scale is not None and latent_scale.shape != latent_cache.shape[:2]:
        raise ValueError(f"latent_scale must be {tuple(latent_cache.shape[:2])}")
