"""Trials of causal prefill attention: chunks of different lengths behind different prefixes."""

from dataclasses import dataclass
from itertools import accumulate

import torch

from kernels import reference
from kernels.prefill_attention import prefill_attention
from kernels.trials.outcome import Outcome, compare
from kernels.trials.paged import E4M3, Source

BLOCK = 16


@dataclass(frozen=True, slots=True)
class Shape:
    """(prefix, chunk) of each request, in tokens."""

    requests: tuple[tuple[int, int], ...]
    page: int = 4
    heads: int = 4
    kv_heads: int = 2
    dim: int = 64


SHAPES = {
    "no_prefix": Shape(((0, 21),)),
    "chunk_behind_prefix": Shape(((19, 18),)),
    "mixed_lengths": Shape(((0, 1), (33, 7), (5, 17))),
    "one_token_pages": Shape(((3, 18),), page=1),
    "one_token_chunk": Shape(((16, 1), (15, 1)), page=16),
    "head_dim_128": Shape(((5, 17),), dim=128, heads=3, kv_heads=1),
}


def prefill(name: str, device: str, shape: Shape, cache: torch.dtype) -> Outcome:
    """The last chunk of each request, in bf16, over a cache of `cache`."""
    source = Source(name, device)
    lengths = tuple(prefix + chunk for prefix, chunk in shape.requests)
    chunks = [chunk for _, chunk in shape.requests]
    paged = source.paged(shape.page, lengths)
    query = source.normal(sum(chunks), shape.heads, shape.dim, dtype=torch.bfloat16)
    rows = (shape.kv_heads, shape.dim)
    keys, values = (source.cache_apart(paged, *rows, dtype=cache) for _ in range(2))
    scales = None
    if cache == E4M3:
        scales = (source.scales(paged, shape.kv_heads), source.scales(paged, shape.kv_heads))
    starts = source.integers(*accumulate(chunks, initial=0))
    arguments = (query, keys, values, paged.block_table, starts, paged.context_lens)
    out = prefill_attention(*arguments, chunk_max=max(chunks), scales=scales, block_queries=BLOCK,
                            block_tokens=BLOCK)  # fmt: skip
    truth = reference.prefill_attention(*arguments, scales=scales)
    rounded = reference.prefill_attention(*arguments, scales=scales, compute=torch.bfloat16)
    return compare(out, truth, rounded)
