"""Trials of the decode kernels: every combine mode, on shapes that masks and merges get wrong."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
import triton  # pyright: ignore[reportMissingTypeStubs] - there are none

from kernels import reference
from kernels.gqa_decode import gqa_decode
from kernels.mla_decode import mla_decode
from kernels.quantised_rows import GROUP, ROPE, Cache, QuantisedRows, parts
from kernels.split_merge import SplitLaunch
from kernels.trials.outcome import Outcome, compare
from kernels.trials.paged import E4M3, Paged, Source
from kernels.v4_decode import v4_decode

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
    from kernels.turns import taking_turns  # noqa: PLC0415 - it needs the interpreter

    return taking_turns()


def launch_of(splits: int, combine: str, order: str = "tile_fastest") -> SplitLaunch:
    timeout = 0 if interpreted() else POLL_TIMEOUT_NS
    return SplitLaunch(splits, combine, order, timeout)


def gqa(
    name: str,
    device: str,
    shape: Shape,
    cache: torch.dtype,
    combine: str,
    order: str = "tile_fastest",
) -> Outcome:
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
        out = gqa_decode(*arguments, launch_of(shape.splits, combine, order), scales=scales,
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
        out = mla_decode(*arguments, launch_of(shape.splits, combine), softmax_scale=0.05,
                         latent_scale=scale, block_tokens=BLOCK_TOKENS)  # fmt: skip
    truth = reference.mla_decode(*arguments, softmax_scale=0.05, latent_scale=scale)
    rounded = reference.mla_decode(
        *arguments, softmax_scale=0.05, latent_scale=scale, compute=torch.bfloat16
    )
    return compare(out, truth, rounded)


@dataclass(frozen=True, slots=True)
class Sparse:
    """A window that slides, and rows chosen behind it; `holes` chosen rows are missing."""

    lengths: tuple[int, ...]
    chosen: tuple[int, ...]
    window: int = 24
    holes: int = 0
    heads: int = 16
    splits: int = 3
    latent: int = 128
    block: int = BLOCK_TOKENS


SPARSE_SHAPES = {
    "window_and_chosen": Sparse((70, 9), (37, 0)),
    "context_inside_window": Sparse((5, 1), (0, 3)),
    "holes_fill_a_block": Sparse((40,), (40,), holes=35),
    "all_heads_full_width": Sparse((30,), (21,), heads=64, latent=512, splits=2),
    "empty_request": Sparse((0, 33), (0, 5), splits=4),
    "split_of_holes": Sparse((40,), (40,), holes=40),
    "blocks_of_32": Sparse((70, 9), (37, 8), block=32),  # as shipped: an e4m3 one is two steps
}


def v4(name: str, device: str, shape: Sparse, cache: torch.dtype, combine: str) -> Outcome:
    """Sparse decode in bf16: window, compressed rows by number, and a sink."""
    source = Source(name, device)
    paged = source.paged(4, shape.lengths)
    requests, k = len(shape.lengths), max(shape.chosen) + 1
    query = source.normal(requests, shape.heads, shape.latent, dtype=torch.bfloat16)
    stored = source.paged(4, (64,))  # the compressed rows, as pages of a request of 64 tokens
    near = sparse_cache(source, paged, shape.latent, cache)
    far = flat(sparse_cache(source, stored, shape.latent, cache))
    rows = [torch.randperm(64, generator=source.generator)[:k] for _ in range(requests)]
    chosen = stored.slots(0)[torch.stack(rows).to(device)].to(torch.int32)
    chosen[:, : shape.holes] = -1
    sinks = source.normal(shape.heads)
    index = (paged.block_table, paged.context_lens, chosen, source.integers(*shape.chosen), sinks)
    with all_resident():
        out = v4_decode(query, near, far, *index, launch_of(shape.splits, combine),
                        softmax_scale=0.09, window=shape.window,
                        block_tokens=shape.block)  # fmt: skip
    truth, rounded = (
        reference.v4_decode(query, whole(near, compute), whole(far, compute), *index,
                            softmax_scale=0.09, window=shape.window, compute=compute)
        for compute in (torch.float64, torch.bfloat16)
    )  # fmt: skip
    return compare(out, truth, rounded)


def sparse_cache(source: Source, paged: Paged, latent: int, dtype: torch.dtype) -> Cache:
    """[pages, page, latent]; in e4m3 with its RoPE part apart, and a scale for each 64 codes."""
    if dtype != E4M3:
        return source.cache(paged, latent, dtype=dtype)
    coded = latent - ROPE
    codes = source.cache(paged, coded, dtype=E4M3)
    ropes = source.cache(paged, ROPE, dtype=torch.bfloat16)
    return QuantisedRows(codes, ropes, source.scales(paged, coded // GROUP))


def flat(cache: Cache) -> Cache:
    """The same rows without pages."""
    if isinstance(cache, QuantisedRows):
        return QuantisedRows(*(one.flatten(0, 1) for one in parts(cache) if one is not None))
    return cache.flatten(0, 1)


def whole(cache: Cache, compute: torch.dtype) -> torch.Tensor:
    if isinstance(cache, QuantisedRows):
        return reference.whole_rows(cache.latents, cache.ropes, cache.scales, compute)
    return cache
