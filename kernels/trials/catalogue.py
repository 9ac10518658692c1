"""Every trial by its name. The name is also the seed of its inputs."""

from collections.abc import Callable, Iterator
from functools import partial

import torch

from kernels.split_merge import COMBINES
from kernels.trials import cache, decode, engine_calls, prefill, rows
from kernels.trials.outcome import Outcome
from kernels.trials.paged import E4M3
from kernels.trials.refusals import REFUSALS, refused

Trial = Callable[[str, str], Outcome]  # (name, device)
DTYPES = {"bf16": torch.bfloat16, "e4m3": E4M3}
MLA_SHAPES = {
    "one_rank_of_eight": decode.Shape((37, 5), heads=16),
    "all_heads": decode.Shape((21,), page=16, splits=2, heads=128),
}


def catalogue() -> dict[str, Trial]:
    """All trials, in the order of the table."""
    return dict(
        [*attention(), *orders(), *sparse_attention(), *caches(), *tokens(), *engine(), *refusals()]
    )


def attention() -> Iterator[tuple[str, Trial]]:
    for dtype, torch_dtype in DTYPES.items():
        for combine in COMBINES:
            for name, shape in decode.SHAPES.items():
                trial = partial(decode.gqa, shape=shape, cache=torch_dtype, combine=combine)
                yield f"gqa_decode {name} {dtype} {combine}", trial
            for name, shape in MLA_SHAPES.items():
                trial = partial(decode.mla, shape=shape, cache=torch_dtype, combine=combine)
                yield f"mla_decode {name} {dtype} {combine}", trial
        for name, chunked in prefill.SHAPES.items():
            trial = partial(prefill.prefill, shape=chunked, cache=torch_dtype)
            yield f"prefill_attention {name} {dtype}", trial


def orders() -> Iterator[tuple[str, Trial]]:
    """The other order of CTAs, in which a tile's splits follow each other."""
    shape = decode.SHAPES["mixed_lengths"]
    for combine in COMBINES:
        trial = partial(decode.gqa, shape=shape, cache=torch.bfloat16, combine=combine,
                        order="split_fastest")  # fmt: skip
        yield f"gqa_decode split_fastest {combine}", trial


def sparse_attention() -> Iterator[tuple[str, Trial]]:
    for dtype, torch_dtype in DTYPES.items():
        for combine in COMBINES:
            for name, shape in decode.SPARSE_SHAPES.items():
                trial = partial(decode.v4, shape=shape, cache=torch_dtype, combine=combine)
                yield f"v4_decode {name} {dtype} {combine}", trial


def caches() -> Iterator[tuple[str, Trial]]:
    for dtype, torch_dtype in DTYPES.items():
        for dim in (64, 80):
            yield f"kv_write dim_{dim} {dtype}", partial(cache.write, dim=dim, dtype=torch_dtype)
    yield "kv_write every_code e4m3", cache.every_code
    for values in (2, 130, 3000):
        yield f"page_pack {values}_values", partial(cache.pack, page_values=values)
    yield "page_pack flipped_bit", cache.flipped_bit


def tokens() -> Iterator[tuple[str, Trial]]:
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        for width in (1, 100, 512):
            yield f"rmsnorm width_{width} {name}", partial(rows.norm, width=width, dtype=dtype)
        for dim in (64, 128):
            yield f"rope dim_{dim} {name}", partial(rows.turn, dim=dim, dtype=dtype)
    for vocabulary in (1, 37, 2500):
        yield f"sample greedy_{vocabulary}", partial(rows.greedy, vocabulary=vocabulary)
        yield f"sample seeded_{vocabulary}", partial(rows.seeded, vocabulary=vocabulary)
    yield "sample distribution", rows.distribution


def engine() -> Iterator[tuple[str, Trial]]:
    yield "engine decode", engine_calls.decode
    yield "engine prefill", engine_calls.prefill
    yield "engine pages", engine_calls.pages


def refusals() -> Iterator[tuple[str, Trial]]:
    for name in REFUSALS:
        yield f"refuses {name}", refused
