"""Sparse split-KV decode attention of DeepSeek-V4-Flash: the kernel and its launcher.

Every query head reads the same rows, 512 wide, key and value at once (the last 64 dimensions are
already turned by RoPE). The rows of a request are the last `window` tokens, from a paged cache, and
then the compressed rows that the indexer chose (or all of them, at the higher ratio), given as row
numbers of a flat cache. A learned logit per head, the attention sink, takes part in the softmax and
has no value. A tile is 16 query heads of one request. Caches are bf16, or `QuantisedRows`.
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

from kernels.debug import require_below
from kernels.quantised_rows import GROUP, ROPE, Cache, QuantisedRows, parts, require_quantised
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
    require_out,
    second_pass,
    used_splits,
)

LATENT_DIMS = (32, 64, 128, 256, 512)  # 512 is the model's; the others are for scaled launches
PAGE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
DTYPES = (torch.bfloat16, torch.float32)
TILE_HEADS = 16
WINDOW = 128
BLOCK_TOKENS = 32
BLOCKS = (16, 32, 64, 128)
LOG2_E = tl.constexpr(math.log2(math.e))


@triton.jit
def locate_rows(pages, chosen, rows, context, in_window, valid, PAGE: tl.constexpr):
    """Where rows [N] of a request are, window first and then the chosen: whether in the window's
    cache, at which slot of their cache, and which of them exist."""
    of_window = rows < in_window
    position = context - in_window + rows
    page = tl.load(pages + position // PAGE, mask=valid & of_window, other=0).to(tl.int64)
    index = tl.load(chosen + rows - in_window, mask=valid & (rows >= in_window), other=0)
    slots = tl.where(of_window, page * PAGE + position % PAGE, tl.maximum(index, 0).to(tl.int64))
    return of_window, slots, valid & (index >= 0)


@triton.jit
def load_latents(window, compressed, of_window, slots, exists, dtype: tl.constexpr,
                 LATENT: tl.constexpr, ROPE: tl.constexpr, GROUP: tl.constexpr,
                 QUANTISED: tl.constexpr):  # fmt: skip
    """Rows [N, LATENT] of either cache (latents, ropes, scales); zeros where none exists."""
    dims = tl.arange(0, LATENT)[None, :]
    near = of_window[:, None]
    there = exists[:, None]
    if QUANTISED:
        groups: tl.constexpr = LATENT // GROUP  # the last of them is RoPE's
        group = tl.arange(0, groups)[None, :]
        lane = tl.arange(0, GROUP)[None, None, :]
        is_coded = there & (group < groups - 1)
        codes = tl.where(near, window[0], compressed[0]) + slots[:, None] * (LATENT - ROPE)
        scales = tl.where(near, window[2], compressed[2]) + slots[:, None] * (groups - 1)
        value = tl.load((codes + group * GROUP)[:, :, None] + lane, mask=is_coded[:, :, None],
                        other=0.0).to(tl.float32)  # fmt: skip
        value *= tl.load(scales + group, mask=is_coded, other=0.0)[:, :, None]
        ropes = tl.where(near, window[1], compressed[1]) + slots[:, None] * ROPE
        turned = tl.load(ropes + tl.arange(0, GROUP)[None, :], mask=there, other=0.0).to(dtype)
        whole = tl.where((group < groups - 1)[:, :, None], value.to(dtype), turned[:, None, :])
        latents = tl.reshape(whole, [whole.shape[0], LATENT])
    else:
        pointers = tl.where(near, window[0], compressed[0]) + slots[:, None] * LATENT + dims
        latents = tl.load(pointers, mask=there, other=0.0)
    return latents


@triton.jit
def attend_block(q, state, latents, exists, scale_log2e):
    """One block of rows of the online softmax; a row that does not exist weighs nothing."""
    peak, total, mixed = state
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
def attend_split(query, window, compressed, block_table, chosen, sinks, context, count,
                 partials, lses, tile, split, n_splits, scale_log2e, tiles_per_request,
                 table_width, chosen_max, HEADS: tl.constexpr, LATENT: tl.constexpr,
                 ROPE: tl.constexpr, GROUP: tl.constexpr, PAGE: tl.constexpr,
                 WINDOW: tl.constexpr, BLOCK_TOKENS: tl.constexpr, STEP: tl.constexpr,
                 QUANTISED: tl.constexpr):  # fmt: skip
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
    end = tl.minimum((split + 1) * per_split * BLOCK_TOKENS, count)
    for begin in range(split * per_split * BLOCK_TOKENS, end, STEP):
        rows = begin + tl.arange(0, STEP)
        of_window, slots, exists = locate_rows(
            block_table + request * table_width, chosen + request * chosen_max, rows, context,
            tl.minimum(context, WINDOW), rows < count, PAGE)  # fmt: skip
        latents = load_latents(window, compressed, of_window, slots, exists, q.dtype, LATENT,
                               ROPE, GROUP, QUANTISED)  # fmt: skip
        peak, total, mixed = attend_block(q, (peak, total, mixed), latents, exists, scale_log2e)
    at = (row * n_splits + split).to(tl.int64)
    seen = tl.where(total > 0, total, 1.0)
    tl.store(partials + at[:, None] * LATENT + dims[None, :], mixed / seen[:, None])
    tl.store(lses + at, peak + tl.log2(seen))


@triton.jit(do_not_specialize=["n_tiles", "n_splits", "tiles_per_request", "table_width",
                               "chosen_max"])  # fmt: skip
def v4_decode_kernel(query, window_latents, window_ropes, window_scales, compressed_latents,
                     compressed_ropes, compressed_scales, block_table, chosen, sinks,
                     context_lens, counts, partials, lses, counters, out,
                     n_tiles, n_splits, scale_log2e, tiles_per_request, table_width, chosen_max,
                     HEADS: tl.constexpr, LATENT: tl.constexpr, ROPE: tl.constexpr,
                     GROUP: tl.constexpr, PAGE: tl.constexpr, WINDOW: tl.constexpr,
                     BLOCK_TOKENS: tl.constexpr, STEP: tl.constexpr, COMBINE: tl.constexpr,
                     SPLIT_FASTEST: tl.constexpr, COLUMNS: tl.constexpr, QUANTISED: tl.constexpr,
                     POLL_TIMEOUT_NS: tl.constexpr):  # fmt: skip
    """Sparse attention of one (tile, split), and its part of the merge; counts are of rows."""
    tile, split = locate(n_tiles, n_splits, SPLIT_FASTEST)
    count = tl.load(counts + tile // tiles_per_request)
    if split < used_splits(count, n_splits, BLOCK_TOKENS):
        context = tl.load(context_lens + tile // tiles_per_request)
        attend_split(query, (window_latents, window_ropes, window_scales),
                     (compressed_latents, compressed_ropes, compressed_scales), block_table,
                     chosen, sinks, context, count, partials, lses, tile, split, n_splits,
                     scale_log2e, tiles_per_request, table_width, chosen_max, HEADS, LATENT, ROPE,
                     GROUP, PAGE, WINDOW, BLOCK_TOKENS, STEP, QUANTISED)  # fmt: skip
        combine(partials, lses, out, counters, counts, tile, split, n_splits, tiles_per_request,
                HEADS, HEADS, LATENT, BLOCK_TOKENS, COMBINE, COLUMNS,
                POLL_TIMEOUT_NS)  # fmt: skip
    if COMBINE == GRID_BARRIER:
        combine_behind_barrier(partials, lses, out, counters, counts, n_tiles, n_splits,
                               tiles_per_request, HEADS, HEADS, LATENT, BLOCK_TOKENS,
                               POLL_TIMEOUT_NS)  # fmt: skip


def v4_decode(query: torch.Tensor, window_cache: Cache, compressed_cache: Cache,
              block_table: torch.Tensor, context_lens: torch.Tensor, chosen: torch.Tensor,
              chosen_counts: torch.Tensor, sinks: torch.Tensor, launch: SplitLaunch, *,
              softmax_scale: float, window: int = WINDOW, block_tokens: int = BLOCK_TOKENS,
              out: torch.Tensor | None = None) -> torch.Tensor:  # fmt: skip
    """Sparse attention of one query token per request.

    query [requests, heads, latent]; window_cache [pages, page, latent] with block_table
    [requests, width] int32 and context_lens [requests] int32; compressed_cache [rows, latent] with
    chosen [requests, k] int32, row numbers (a negative one is a hole), of which the first
    chosen_counts [requests] int32 are used; sinks [heads] float32. Both caches have the query's
    dtype, or both are QuantisedRows. ValueError otherwise.
    """
    near, far = parts(window_cache), parts(compressed_cache)
    require_launchable(query=query, block_table=block_table, context_lens=context_lens,
                       chosen=chosen, chosen_counts=chosen_counts, sinks=sinks, out=out,
                       window_latents=near[0], window_ropes=near[1], window_scales=near[2],
                       compressed_latents=far[0], compressed_ropes=far[1],
                       compressed_scales=far[2])  # fmt: skip
    require_v4(query, near[0], window, block_tokens)
    require_caches(query, window_cache, compressed_cache)
    require_sinks(query, sinks)
    require_index(query.shape[0], block_table, context_lens, chosen, chosen_counts)
    require_inside(block_table, near[0], chosen, far[0])
    heads, latent = query.shape[1:]
    tiles = query.shape[0] * heads // TILE_HEADS
    out = require_out(query, out)
    counts = context_lens.clamp(max=window) + chosen_counts
    scratch = Partials.allocate(tiles * TILE_HEADS, latent, tiles, launch, query.device)
    v4_decode_kernel[(tiles * launch.splits,)](
        query, *near, *far, block_table, chosen, sinks, context_lens, counts, scratch.outputs,
        scratch.lses, scratch.counters, out, tiles, launch.splits, softmax_scale * LOG2_E.value,
        heads // TILE_HEADS, block_table.shape[1], chosen.shape[1], HEADS=TILE_HEADS, LATENT=latent,
        ROPE=ROPE, GROUP=GROUP, PAGE=near[0].shape[1], WINDOW=window, BLOCK_TOKENS=block_tokens,
        COMBINE=COMBINES[launch.combine], SPLIT_FASTEST=launch.order == "split_fastest",
        COLUMNS=SLICE_COLUMNS, POLL_TIMEOUT_NS=launch.poll_timeout_ns, num_stages=2,
        **tuning(block_tokens, quantised=isinstance(window_cache, QuantisedRows)))  # fmt: skip
    if launch.combine == "two_pass":
        second_pass(scratch, out, counts, TILE_HEADS, block_tokens)
    return out


def tuning(block_tokens: int, *, quantised: bool) -> dict[str, int]:
    """What depends on the kind of the caches. 32 quantised rows at a time, turned into the
    query's dtype, would spill."""
    if quantised:
        return {"QUANTISED": True, "STEP": 16, "num_warps": 8}
    return {"QUANTISED": False, "STEP": block_tokens, "num_warps": 4}


def require_v4(query: torch.Tensor, window_latents: torch.Tensor, window: int,
               block_tokens: int) -> None:  # fmt: skip
    """ValueError unless heads, width, page, window and block are ones it was written for."""
    _, heads, latent = query.shape
    if heads % TILE_HEADS:
        raise ValueError(f"{heads} query heads are not supported: use a multiple of {TILE_HEADS}")
    if latent not in LATENT_DIMS:
        raise ValueError(f"latent dim {latent} is not supported: use one of {LATENT_DIMS}")
    if window_latents.shape[1] not in PAGE_SIZES:
        raise ValueError(f"page size {window_latents.shape[1]}: use one of {PAGE_SIZES}")
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    if block_tokens not in BLOCKS:
        raise ValueError(f"block_tokens {block_tokens} is not supported: use one of {BLOCKS}")


def require_caches(query: torch.Tensor, window_cache: Cache, compressed_cache: Cache) -> None:
    """ValueError unless both caches are of one kind, and have the query's width and dtype."""
    if query.dtype not in DTYPES:
        raise ValueError(f"query dtype {query.dtype} is not supported: use one of {DTYPES}")
    if isinstance(window_cache, QuantisedRows) != isinstance(compressed_cache, QuantisedRows):
        raise ValueError("both caches must be of the query's dtype, or both QuantisedRows")
    for name, cache, dims in (("window", window_cache, 2), ("compressed", compressed_cache, 1)):
        if isinstance(cache, QuantisedRows):
            require_quantised(query, name, cache, dims)
        elif cache.shape[dims:] != query.shape[2:] or cache.dtype != query.dtype:
            raise ValueError(
                f"{name}_cache: expected rows of {query.shape[2]} in the query's dtype, "
                f"got {tuple(cache.shape)} {cache.dtype}"
            )


def require_sinks(query: torch.Tensor, sinks: torch.Tensor) -> None:
    """ValueError unless there is a float32 sink for each head."""
    if sinks.shape != query.shape[1:2] or sinks.dtype != torch.float32:
        raise ValueError(f"sinks must be float32 [{query.shape[1]}]")


def require_inside(pages: torch.Tensor, window: torch.Tensor, rows: torch.Tensor,
                   compressed: torch.Tensor) -> None:  # fmt: skip
    """ValueError, in debug mode, if a page or a row lies behind the end of its cache."""
    require_below("block_table", pages, window.shape[0], "pages of the window's cache")
    require_below("chosen", rows, compressed.shape[0], "rows of the compressed cache")


def require_index(requests: int, block_table: torch.Tensor, context_lens: torch.Tensor,
                  chosen: torch.Tensor, chosen_counts: torch.Tensor) -> None:  # fmt: skip
    """ValueError unless all are int32 with a row per request."""
    for tensor in (block_table, context_lens, chosen, chosen_counts):
        if tensor.dtype != torch.int32 or tensor.shape[0] != requests:
            raise ValueError(f"expected int32 with {requests} rows, got {tensor.dtype}")
    if context_lens.ndim != 1 or chosen_counts.ndim != 1:
        raise ValueError("context_lens and chosen_counts must be one number per request")
