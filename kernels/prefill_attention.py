"""Causal prefill attention over paged KV: the kernel and its launcher.

Requests of different lengths lie end to end (varlen). The queries are the last chunk of each
request: what came before is its prefix, whose KV is in the same pages, as is the chunk's own KV,
written before this launch.
"""
# ruff: noqa: ANN001, ANN201, N803, PLR0913, PLR0917 - Triton's own conventions: untyped runtime
#   arguments, capitals for compile-time ones, as many of both as there are; shapes have ranks
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

from kernels.debug import require_chunks, require_table

HEAD_DIMS = (16, 32, 64, 128)
PAGE_SIZES = tuple(1 << power for power in range(11))  # 1 to 1024
DTYPES = (torch.bfloat16, torch.float32)
BLOCK_MIN = 16  # rows of a tile that `tl.dot` takes
E4M3 = torch.float8_e4m3fn
BLOCK_QUERIES = 64
BLOCK_TOKENS = 64
MASKED = tl.constexpr(-1.0e30)  # finite, so that a query with nothing to see gives 0 and not NaN


@triton.jit
def attend_block(q, state, key_cache, value_cache, key_scale, value_scale, starts, at, visible,
                 valid, scale_log2e, HEAD_DIM: tl.constexpr,
                 QUANTISED: tl.constexpr):  # fmt: skip
    """One KV block of the online softmax; visible [M, N] by causality and length.

    starts [N]: where the rows begin in the caches; at [N]: the same places in the scales.
    """
    peak, total, mixed = state
    dims = tl.arange(0, HEAD_DIM)
    keys = tl.load(key_cache + starts[None, :] + dims[:, None], mask=valid[None, :],
                   other=0.0).to(q.dtype)  # fmt: skip
    scores = tl.dot(q, keys, input_precision="ieee") * scale_log2e
    if QUANTISED:
        scores = scores * tl.load(key_scale + at, mask=valid, other=0.0)[None, :]
    scores = tl.where(visible, scores, MASKED)
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


@triton.jit(do_not_specialize=["heads", "kv_heads", "table_width"])
def prefill_attention_kernel(query, key_cache, value_cache, key_scale, value_scale, block_table,
                             query_starts, context_lens, out,
                             heads, kv_heads, table_width, scale_log2e, page_stride,
                             HEAD_DIM: tl.constexpr, PAGE: tl.constexpr,
                             BLOCK_QUERIES: tl.constexpr, BLOCK_TOKENS: tl.constexpr,
                             QUANTISED: tl.constexpr):  # fmt: skip
    """One block of queries of one head of one request; grid (query blocks, heads, requests)."""
    first = tl.program_id(0) * BLOCK_QUERIES
    head = tl.program_id(1)
    request = tl.program_id(2)
    start = tl.load(query_starts + request)
    chunk = tl.load(query_starts + request + 1) - start
    if first < chunk:
        index = first + tl.arange(0, BLOCK_QUERIES)
        dims = tl.arange(0, HEAD_DIM)
        place = tl.load(context_lens + request) - chunk + index  # of each query in its sequence
        row = ((start + index).to(tl.int64) * heads + head) * HEAD_DIM
        asked = (index < chunk)[:, None]
        q = tl.load(query + row[:, None] + dims[None, :], mask=asked, other=0.0)
        peak = tl.full([BLOCK_QUERIES], MASKED, tl.float32)
        total = tl.zeros([BLOCK_QUERIES], tl.float32)
        mixed = tl.zeros([BLOCK_QUERIES, HEAD_DIM], tl.float32)
        end = tl.load(context_lens + request)
        seen = tl.minimum(end, end - chunk + first + BLOCK_QUERIES)
        pages = block_table + request.to(tl.int64) * table_width
        for block in range(0, seen, BLOCK_TOKENS):
            position = block + tl.arange(0, BLOCK_TOKENS)
            valid = position < end
            page = tl.load(pages + position // PAGE, mask=valid, other=0).to(tl.int64)
            visible = (position[None, :] <= place[:, None]) & valid[None, :]
            row_of_page = (position % PAGE) * kv_heads + head // (heads // kv_heads)
            peak, total, mixed = attend_block(
                q, (peak, total, mixed), key_cache, value_cache, key_scale, value_scale,
                page * page_stride + row_of_page * HEAD_DIM,
                page * (PAGE * kv_heads) + row_of_page, visible, valid, scale_log2e, HEAD_DIM,
                QUANTISED)  # fmt: skip
        tl.store(out + row[:, None] + dims[None, :],
                 (mixed / total[:, None]).to(out.dtype.element_ty), mask=asked)  # fmt: skip


def prefill_attention(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
                      block_table: torch.Tensor, query_starts: torch.Tensor,
                      context_lens: torch.Tensor, *, chunk_max: int,
                      scales: tuple[torch.Tensor, torch.Tensor] | None = None,
                      block_queries: int = BLOCK_QUERIES,
                      block_tokens: int = BLOCK_TOKENS) -> torch.Tensor:  # fmt: skip
    """Causal attention of the last chunk of each request over its prefix and itself.

    query [tokens, heads, dim], requests end to end; caches [pages, page, kv_heads, dim], where
    pages may lie apart; block_table [requests, width] int32; query_starts [requests + 1] int32,
    where each request's queries begin; context_lens [requests] int32, prefix and chunk together;
    chunk_max, the longest chunk; scales (key, value) float32 [pages, page, kv_heads], exactly when
    the caches are e4m3. ValueError otherwise.
    """
    require_prefill(query, key_cache, value_cache, chunk_max)
    require_index(block_table, query_starts, context_lens)
    require_chunks(query_starts, context_lens, chunk_max)
    require_blocks(block_queries, block_tokens)
    require_table(block_table, context_lens, key_cache)
    require_scales(query, key_cache, scales)
    require_together(query, key_cache[0], value_cache[0], block_table, query_starts, context_lens,
                     *(scales or ()))  # fmt: skip
    _, heads, dim = query.shape
    _, page, kv_heads, _ = key_cache.shape
    key_scale, value_scale = scales or (None, None)
    out = torch.empty_like(query)
    grid = (triton.cdiv(chunk_max, block_queries), heads, context_lens.numel())
    prefill_attention_kernel[grid](
        query, key_cache, value_cache, key_scale, value_scale, block_table, query_starts,
        context_lens, out, heads, kv_heads, block_table.shape[1],
        math.log2(math.e) / math.sqrt(dim), key_cache.stride(0), HEAD_DIM=dim, PAGE=page,
        BLOCK_QUERIES=block_queries, BLOCK_TOKENS=block_tokens, QUANTISED=scales is not None,
        num_warps=8, num_stages=2)  # fmt: skip
    return out


def require_prefill(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
                    chunk_max: int) -> None:  # fmt: skip
    """ValueError unless the shapes are ones the kernel was written for."""
    _, heads, dim = query.shape
    _, page, kv_heads, cache_dim = key_cache.shape
    if dim not in HEAD_DIMS:
        raise ValueError(f"head dim {dim} is not supported: use one of {HEAD_DIMS}")
    if page not in PAGE_SIZES:
        raise ValueError(f"page size {page} is not supported: use one of {PAGE_SIZES}")
    if cache_dim != dim or value_cache.shape != key_cache.shape:
        raise ValueError(f"caches must both be [pages, page, kv_heads, {dim}]")
    if value_cache.dtype != key_cache.dtype:
        raise ValueError(
            f"both caches must have one dtype, got {key_cache.dtype} and {value_cache.dtype}"
        )
    if key_cache.stride() != value_cache.stride() or key_cache.stride(0) % 16:
        raise ValueError(f"pages must lie a multiple of 16 values apart: {key_cache.stride()}")
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads do not divide among {kv_heads} KV heads")
    if chunk_max < 1:
        raise ValueError(f"chunk_max must be at least 1, got {chunk_max}")


def require_blocks(block_queries: int, block_tokens: int) -> None:
    """ValueError unless tiles of `tl.dot` can have these sizes."""
    for name, block in (("block_queries", block_queries), ("block_tokens", block_tokens)):
        if block < BLOCK_MIN or block & (block - 1):
            raise ValueError(f"{name}: expected a power of two, at least {BLOCK_MIN}, got {block}")


def require_index(block_table: torch.Tensor, query_starts: torch.Tensor,
                  context_lens: torch.Tensor) -> None:  # fmt: skip
    """ValueError unless there is one int32 entry per request in each (and one end more)."""
    requests = context_lens.numel()
    if block_table.shape[0] != requests or query_starts.shape != (requests + 1,):
        raise ValueError(f"block_table needs {requests} rows, query_starts {requests + 1}")
    if not block_table.dtype == query_starts.dtype == context_lens.dtype == torch.int32:
        raise ValueError("block_table, query_starts and context_lens must be int32")


def require_scales(query: torch.Tensor, key_cache: torch.Tensor,
                   scales: tuple[torch.Tensor, torch.Tensor] | None) -> None:  # fmt: skip
    """ValueError unless the caches have the query's dtype, or e4m3 and one scale per row."""
    if query.dtype not in DTYPES:
        raise ValueError(f"query dtype {query.dtype} is not supported: use one of {DTYPES}")
    if key_cache.dtype not in (query.dtype, E4M3):
        raise ValueError(f"cache dtype {key_cache.dtype}: use {query.dtype} or {E4M3}")
    if (key_cache.dtype == E4M3) != (scales is not None):
        raise ValueError("scales belong to e4m3 caches, and only to them")
    for scale in scales or ():
        if scale.shape != key_cache.shape[:3] or scale.dtype != torch.float32:
            raise ValueError(f"scales must be float32 {tuple(key_cache.shape[:3])}")


def require_together(*tensors: torch.Tensor) -> None:
    """ValueError unless all are contiguous and on one device."""
    if len({tensor.device for tensor in tensors}) > 1:
        raise ValueError(f"all on one device, got {[str(tensor.device) for tensor in tensors]}")
    if not all(tensor.is_contiguous() for tensor in tensors):
        raise ValueError("all tensors must be contiguous")
