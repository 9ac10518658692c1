"""Trials of the decode kernels: every combine mode, on shapes that masks and merges get wrong."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
import triton  # pyright: ignore[reportMissingTypeStubs] - there are none

from kernels import reference
from kernels.gqa_decode import gqa_decode
from kernels.mla_decode import mla_decode
from kernels.split_merge import SplitLaunch
from kernels.trials.outcome import Outcome, compare
from kernels.trials.paged import E4M3, Source

BLOCK_TOKENS = 16
POLL_TIMEOUT_NS = 2_000_000_000  # on a GPU a waiting kernel of a trial gives up after 2 s


@dataclass(frozen=True, slots=True)
class Shape:
    """Lengths of the requests, and how they are paged and split."""

    lengths: tuple[int, ...]
    page: int = 4
    splits: int = 3
    heads: int = 4
    kv_heads: int = 2
    dim: int = 64


SHAPES = {
    "masked_tail": Shape((37, 16)),
    "one_token_pages": Shape((19, 5), page=1),
    "empty_splits": Shape((17,), splits=7),
    "mixed_lengths": Shape((1, 70, 16), splits=2),
    "empty_request": Shape((0, 33)),
    "last_page_of_one": Shape((33, 49), page=16, splits=2),
    "head_dim_128": Shape((40,), dim=128, heads=3, kv_heads=1),
}


def interpreted() -> bool:
    return bool(triton.knobs.runtime.interpret)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] - Triton is untyped


def all_resident() -> AbstractContextManager[object]:
    """In the interpreter CTAs take turns, so that those which wait get what they wait for."""
    if not interpreted():
        return nullcontext()
    from kernels.residency import Rules, scheduled  # noqa: PLC0415 - it needs the interpreter

    return scheduled(Rules(resident_max=1_000))


def launch_of(shape: Shape, combine: str, order: str = "tile_fastest") -> SplitLaunch:
    timeout = 0 if interpreted() else POLL_TIMEOUT_NS
    return SplitLaunch(shape.splits, combine, order, timeout)


def gqa(name: str, device: str, shape: Shape, cache: torch.dtype, combine: str) -> Outcome:
    """Grouped-query decode in bf16, over a cache of `cache`."""
    source = Source(name, device)
    paged = source.paged(shape.page, shape.lengths)
    query = source.normal(len(shape.lengths), shape.heads, shape.dim, dtype=torch.bfloat16)
    rows = (shape.kv_heads, shape.dim)
    keys, values = (source.cache_apart(paged, *rows, dtype=cache) for _ in range(2))
    scales = None
    if cache == E4M3:
        scales = (source.scales(paged, shape.kv_heads), source.scales(paged, shape.kv_heads))
    arguments = (query, keys, values, paged.block_table, paged.context_lens)
    with all_resident():
        out = gqa_decode(*arguments, launch_of(shape, combine), scales=scales,
                         block_tokens=BLOCK_TOKENS)  # fmt: skip
    truth = reference.gqa_decode(*arguments, scales=scales)
    rounded = reference.gqa_decode(*arguments, scales=scales, compute=torch.bfloat16)
    return compare(out, truth, rounded)


def mla(name: str, device: str, shape: Shape, cache: torch.dtype, combine: str) -> Outcome:
    """Latent decode in bf16 at the model's own width, over a latent cache of `cache`."""
    source = Source(name, device)
    paged = source.paged(shape.page, shape.lengths)
    requests = len(shape.lengths)
    query = source.normal(requests, shape.heads, 512, dtype=torch.bfloat16)
    query_rope = source.normal(requests, shape.heads, 64, dtype=torch.bfloat16)
    latents = source.cache(paged, 512, dtype=cache)
    ropes = source.cache(paged, 64, dtype=torch.bfloat16)
    scale = source.scales(paged) if cache == E4M3 else None
    arguments = (query, query_rope, latents, ropes, paged.block_table, paged.context_lens)
    with all_resident():
        out = mla_decode(*arguments, launch_of(shape, combine), softmax_scale=0.05,
                         latent_scale=scale, block_tokens=BLOCK_TOKENS)  # fmt: skip
    truth = reference.mla_decode(*arguments, softmax_scale=0.05, latent_scale=scale)
    rounded = reference.mla_decode(
        *arguments, softmax_scale=0.05, latent_scale=scale, compute=torch.bfloat16
    )
    return compare(out, truth, rounded)
