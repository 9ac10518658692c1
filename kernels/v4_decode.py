"""Sparse split-KV decode attention of DeepSeek-V4-Flash: the kernel and its launcher.

Every query head reads the same rows, 512 wide, key and value at once (the last 64 dimensions are
already turned by RoPE). The rows of a request are the last `window` tokens, from a paged cache, and
then the compressed rows that the indexer chose (or all of them, at the higher ratio), given as row
numbers of a flat cache. A learned logit per head, the attention sink, takes part in the softmax and
has no value. A tile is 16 query heads of one request. Caches are bf16.
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
    require_launchable,
    second_pass,
    used_splits,
)

LATENT_DIMS = (32, 64, 128, 256, 512)  # 512 is the model's; the others are for scaled launches
PAGE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
DTYPES = (torch.bfloat16, torch.float32)
TILE_HEADS = 16
WINDOW = 128
BLOCK_TOKENS = 32
LOG2_E = tl.constexpr(math.log2(math.e))


@triton.jit
def row_pointers(window_cache, compressed_cache, pages, chosen, rows, context, in_window, valid,
                 LATENT: tl.constexpr, PAGE: tl.constexpr):  # fmt: skip
    """Where rows [N] of a request begin, and which of them exist: window first, then the chosen."""
    of_window = rows < in_window
    position = context - in_window + rows
    page = tl.load(pages + position // PAGE, mask=valid & of_window, other=0).to(tl.int64)
    index = tl.load(chosen + rows - in_window, mask=valid & (rows >= in_window), other=0)
    exists = valid & (index >= 0)
    near = window_cache + (page * PAGE + position % PAGE) * LATENT
    far = compressed_cache + tl.maximum(index, 0).to(tl.int64) * LATENT
    return tl.where(of_window, near, far), exists


@triton.jit
def attend_block(q, state, pointers, exists, scale_log2e, LATENT: tl.constexpr):
    """One block of rows of the online softmax; a row that does not exist weighs nothing."""
    peak, total, mixed = state
    dims = tl.arange(0, LATENT)
    latents = tl.load(pointers[:, None] + dims[None, :], mask=exists[:, None], other=0.0)
    scores = tl.dot(q, tl.trans(latents), input_precision="ieee") * scale_log2e
    scores = tl.where(exists[None, :], scores, MASKED)
    new_peak = tl.maximum(peak, tl.max(scores, 1))
    kept = tl.exp2(peak - new_peak)
    # A block of nothing but holes has its peak at MASKED, where every difference is zero.
    weights = tl.where(exists[None, :], tl.exp2(scores - new_peak[:, None]), 0.0)
    total = total * kept + tl.sum(weights, 1)
    mixed = mixed * kept[:, None]
    mixed += tl.dot(weights.to(q.dtype), latents, input_precision="ieee")
    return new_peak, total, mixed


@triton.jit
def attend_split(query, window_cache, compressed_cache, block_table, chosen, sinks, context, count,
                 partials, lses, tile, split, n_splits, scale_log2e, tiles_per_request,
                 table_width, chosen_max, HEADS: tl.constexpr, LATENT: tl.constexpr,
                 PAGE: tl.constexpr, WINDOW: tl.constexpr,
                 BLOCK_TOKENS: tl.constexpr):  # fmt: skip
    """Attend to the rows of one split; store its normalised output and base-2 LSE."""
    request = (tile // tiles_per_request).to(tl.int64)
    head = (tile % tiles_per_request) * HEADS + tl.arange(0, HEADS)
    row = tile * HEADS + tl.arange(0, HEADS)
    dims = tl.arange(0, LATENT)
    q = tl.load(query + row[:, None] * LATENT + dims[None, :])
    # The sink is one more logit, with a value of zero; the first split has it.
    first_split = tl.zeros([HEADS], tl.int32) + split == 0
    peak = tl.where(first_split, tl.load(sinks + head) * LOG2_E, MASKED)
    total = tl.where(first_split, 1.0, 0.0)
    mixed = tl.zeros([HEADS, LATENT], tl.float32)
    per_split = blocks_per_split(count, n_splits, BLOCK_TOKENS)
    last = tl.minimum((split + 1) * per_split, tl.cdiv(count, BLOCK_TOKENS))
    for block in range(split * per_split, last):
        rows = block * BLOCK_TOKENS + tl.arange(0, BLOCK_TOKENS)
        pointers, exists = row_pointers(
            window_cache, compressed_cache, block_table + request * table_width,
            chosen + request * chosen_max, rows, context, tl.minimum(context, WINDOW),
            rows < count, LATENT, PAGE)  # fmt: skip
        peak, total, mixed = attend_block(q, (peak, total, mixed), pointers, exists, scale_log2e,
                                          LATENT)  # fmt: skip
    at = (row * n_splits + split).to(tl.int64)
    seen = tl.where(total > 0, total, 1.0)
    tl.store(partials + at[:, None] * LATENT + dims[None, :], mixed / seen[:, None])
    tl.store(lses + at, peak + tl.log2(seen))


@triton.jit(do_not_specialize=["n_tiles", "n_splits", "tiles_per_request", "table_width",
                               "chosen_max"])  # fmt: skip
def v4_decode_kernel(query, window_cache, compressed_cache, block_table, chosen, sinks,
                     context_lens, counts, partials, lses, counters, out,
                     n_tiles, n_splits, scale_log2e, tiles_per_request, table_width, chosen_max,
                     HEADS: tl.constexpr, LATENT: tl.constexpr, PAGE: tl.constexpr,
                     WINDOW: tl.constexpr, BLOCK_TOKENS: tl.constexpr, COMBINE: tl.constexpr,
                     SPLIT_FASTEST: tl.constexpr, COLUMNS: tl.constexpr,
                     POLL_TIMEOUT_NS: tl.constexpr):  # fmt: skip
    """Sparse attention of one (tile, split), and its part of the merge; counts are of rows."""
    tile, split = locate(n_tiles, n_splits, SPLIT_FASTEST)
    count = tl.load(counts + tile // tiles_per_request)
    if split < used_splits(count, n_splits, BLOCK_TOKENS):
        context = tl.load(context_lens + tile // tiles_per_request)
        attend_split(query, window_cache, compressed_cache, block_table, chosen, sinks, context,
                     count, partials, lses, tile, split, n_splits, scale_log2e,
                     tiles_per_request, table_width, chosen_max, HEADS, LATENT, PAGE, WINDOW,
                     BLOCK_TOKENS)  # fmt: skip
        combine(partials, lses, out, counters, counts, tile, split, n_splits, tiles_per_request,
                HEADS, HEADS, LATENT, BLOCK_TOKENS, COMBINE, COLUMNS,
                POLL_TIMEOUT_NS)  # fmt: skip
    if COMBINE == GRID_BARRIER:
        combine_behind_barrier(partials, lses, out, counters, counts, n_tiles, n_splits,
                               tiles_per_request, HEADS, HEADS, LATENT, BLOCK_TOKENS,
                               POLL_TIMEOUT_NS)  # fmt: skip


def v4_decode(query: torch.Tensor, window_cache: torch.Tensor, compressed_cache: torch.Tensor,
              block_table: torch.Tensor, context_lens: torch.Tensor, chosen: torch.Tensor,
              chosen_counts: torch.Tensor, sinks: torch.Tensor, launch: SplitLaunch, *,
              softmax_scale: float, window: int = WINDOW, block_tokens: int = BLOCK_TOKENS,
              out: torch.Tensor | None = None) -> torch.Tensor:  # fmt: skip
    """Sparse attention of one query token per request.

    query [requests, heads, latent]; window_cache [pages, page, latent] with block_table
    [requests, width] int32 and context_lens [requests] int32; compressed_cache [rows, latent] with
    chosen [requests, k] int32, row numbers (a negative one is a hole), of which the first
    chosen_counts [requests] int32 are used; sinks [heads] float32. ValueError otherwise.
    """
    require_launchable(query=query, window_cache=window_cache, compressed_cache=compressed_cache,
                       block_table=block_table, context_lens=context_lens, chosen=chosen,
                       chosen_counts=chosen_counts, sinks=sinks, out=out)  # fmt: skip
    require_v4(query, window_cache, compressed_cache, window)
    require_dtypes(query, window_cache, compressed_cache, sinks)
    require_index(query.shape[0], block_table, context_lens, chosen, chosen_counts)
    requests, heads, latent = query.shape
    tiles = requests * heads // TILE_HEADS
    out = torch.empty_like(query) if out is None else out
    counts = context_lens.clamp(max=window) + chosen_counts
    scratch = Partials.allocate(requests * heads, latent, tiles, launch, query.device)
    v4_decode_kernel[(tiles * launch.splits,)](
        query, window_cache, compressed_cache, block_table, chosen, sinks, context_lens, counts,
        scratch.outputs, scratch.lses, scratch.counters, out,
        tiles, launch.splits, math.log2(math.e) * softmax_scale, heads // TILE_HEADS,
        block_table.shape[1], chosen.shape[1], HEADS=TILE_HEADS, LATENT=latent,
        PAGE=window_cache.shape[1], WINDOW=window, BLOCK_TOKENS=block_tokens,
        COMBINE=COMBINES[launch.combine], SPLIT_FASTEST=launch.order == "split_fastest",
        COLUMNS=SLICE_COLUMNS, POLL_TIMEOUT_NS=launch.poll_timeout_ns, num_warps=4,
        num_stages=2)  # fmt: skip
    if launch.combine == "two_pass":
        second_pass(scratch, out, counts, TILE_HEADS, block_tokens)
    return out


def require_v4(query: torch.Tensor, window_cache: torch.Tensor, compressed_cache: torch.Tensor,
               window: int) -> None:  # fmt: skip
    """ValueError unless shapes and dtypes are ones the kernel was written for."""
    _, heads, latent = query.shape
    if heads % TILE_HEADS:
        raise ValueError(f"{heads} query heads are not supported: use a multiple of {TILE_HEADS}")
    if latent not in LATENT_DIMS:
        raise ValueError(f"latent dim {latent} is not supported: use one of {LATENT_DIMS}")
    if window_cache.shape[1] not in PAGE_SIZES:
        raise ValueError(f"page size {window_cache.shape[1]}: use one of {PAGE_SIZES}")
    if window_cache.shape[2:] != (latent,) or compressed_cache.shape[1:] != (latent,):
        raise ValueError(f"caches must be [pages, page, {latent}] and [rows, {latent}]")
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")


def require_dtypes(query: torch.Tensor, window_cache: torch.Tensor,
                   compressed_cache: torch.Tensor, sinks: torch.Tensor) -> None:  # fmt: skip
    """ValueError unless query and caches share a supported dtype, and there is a sink per head."""
    if query.dtype not in DTYPES:
        raise ValueError(f"query dtype {query.dtype} is not supported: use one of {DTYPES}")
    if not query.dtype == window_cache.dtype == compressed_cache.dtype:
        raise ValueError("both caches must have the query's dtype")
    if sinks.shape != query.shape[1:2] or sinks.dtype != torch.float32:
        raise ValueError(f"sinks must be float32 [{query.shape[1]}]")


def require_index(requests: int, block_table: torch.Tensor, context_lens: torch.Tensor,
                  chosen: torch.Tensor, chosen_counts: torch.Tensor) -> None:  # fmt: skip
    """ValueError unless all are int32 with a row per request."""
    for tensor in (block_table, context_lens, chosen, chosen_counts):
        if tensor.dtype != torch.int32 or tensor.shape[0] != requests:
            raise ValueError(f"expected int32 with {requests} rows, got {tensor.dtype}")
    if context_lens.ndim != 1 or chosen_counts.ndim != 1:
        raise ValueError("context_lens and chosen_counts must be one number per request")
