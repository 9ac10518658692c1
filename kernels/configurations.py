"""Every configuration of every kernel that we ship, as a call of its own launcher.

The AOT gate makes these calls on tensors without storage, so that what it compiles is what a
launch on a GPU compiles: same specialisation, same tiles, same options.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import torch

from kernels.device import ARCHITECTURES
from kernels.gqa_decode import gqa_decode
from kernels.kv_write import kv_write
from kernels.mla_decode import mla_decode
from kernels.page_pack import pack_pages, unpack_pages
from kernels.prefill_attention import prefill_attention
from kernels.quantised_rows import Cache, QuantisedRows
from kernels.rmsnorm import rmsnorm
from kernels.rope import rope
from kernels.sample import sample_greedy, sample_seeded
from kernels.split_merge import COMBINES, SplitLaunch
from kernels.v4_decode import v4_decode

BF16 = torch.bfloat16
E4M3 = torch.float8_e4m3fn
DTYPES = {"bf16": BF16, "e4m3": E4M3}
PAGES = 8  # any number: no kernel is compiled for how many pages there are
PAGE = 16
SPLITS = 8  # any number, likewise
# Seen in the SASS of gqa_decode d64 last_arriver; sm_100 is compiled for its residency only.
SPILLS = {
    "gqa_decode-d64-bf16-last_arriver": {
        "sm_100": "ptxas settles on 64 registers so that 8 CTAs fit, and keeps five words of "
        "addresses on the stack; one of them is read again per KV block"
    }
}
ALL = tuple(architecture.name for architecture in ARCHITECTURES)
TUNED = (ARCHITECTURES[0].name,)


@dataclass(frozen=True, slots=True)
class Configuration:
    """One row of the AOT table. A kernel that spills must say why that is accepted."""

    name: str
    launch: Callable[[], object]
    spill_reasons: Mapping[str, str] = field(default_factory=dict[str, str])  # by architecture
    architectures: tuple[str, ...] = TUNED


def empty(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    """A tensor that has a shape and no storage."""
    return torch.empty(shape, dtype=dtype, device="meta")


def integers(*shape: int) -> torch.Tensor:
    return empty(*shape, dtype=torch.int32)


def floats(*shape: int) -> torch.Tensor:
    return empty(*shape, dtype=torch.float32)


def decode_gqa(dim: int, cache: torch.dtype, combine: str) -> None:
    """Eight KV heads with eight query heads each, as in Llama-3-70B and Qwen3-class models."""
    shape = (PAGES, PAGE, 8)
    keys = empty(*shape, dim, dtype=cache)
    scales = (floats(*shape), floats(*shape)) if cache == E4M3 else None
    gqa_decode(empty(1, 64, dim), keys, keys, integers(1, PAGES), integers(1),
               SplitLaunch(SPLITS, combine), scales=scales)  # fmt: skip


def decode_mla(heads: int, cache: torch.dtype, combine: str) -> None:
    """DeepSeek-V3: 128 heads on one GPU, 16 on one of eight."""
    mla_decode(empty(1, heads, 512), empty(1, heads, 64), empty(PAGES, PAGE, 512, dtype=cache),
               empty(PAGES, PAGE, 64), integers(1, PAGES), integers(1),
               SplitLaunch(SPLITS, combine), softmax_scale=0.07,
               latent_scale=floats(PAGES, PAGE) if cache == E4M3 else None)  # fmt: skip


def decode_v4(cache: torch.dtype, combine: str) -> None:
    """DeepSeek-V4-Flash on one of four GPUs: 16 heads, 512 chosen rows."""
    near, far = (sparse_rows(cache, *rows) for rows in ((PAGES, PAGE), (4096,)))
    v4_decode(empty(1, 16, 512), near, far, integers(1, PAGES),
              integers(1), integers(1, 512), integers(1), floats(16),
              SplitLaunch(SPLITS, combine), softmax_scale=0.04)  # fmt: skip


def sparse_rows(cache: torch.dtype, *rows: int) -> Cache:
    if cache != E4M3:
        return empty(*rows, 512)
    return QuantisedRows(empty(*rows, 448, dtype=E4M3), empty(*rows, 64), floats(*rows, 7))


def prefill(dim: int, cache: torch.dtype) -> None:
    shape = (PAGES, PAGE, 8)
    keys = empty(*shape, dim, dtype=cache)
    scales = (floats(*shape), floats(*shape)) if cache == E4M3 else None
    prefill_attention(empty(64, 64, dim), keys, keys, integers(1, PAGES), integers(2),
                      integers(1), chunk_max=64, scales=scales)  # fmt: skip


def write(heads: int, dim: int, cache: torch.dtype) -> None:
    kv_write(empty(4, heads, dim), empty(PAGES, PAGE, heads, dim, dtype=cache), integers(4),
             floats(PAGES, PAGE, heads) if cache == E4M3 else None)  # fmt: skip


def shipped() -> Iterator[Configuration]:
    """All configurations, in the order of the table."""
    for combine in COMBINES:
        yield from decode(combine)
    for dtype, cache in DTYPES.items():
        for dim in (64, 128):
            yield Configuration(f"prefill_attention-d{dim}-{dtype}", partial(prefill, dim, cache))
        yield Configuration(f"kv_write-8x128-{dtype}", partial(write, 8, 128, cache))
        yield Configuration(f"kv_write-1x512-{dtype}", partial(write, 1, 512, cache))
    # The quantised part of a row of DeepSeek-V4-Flash: a scale for each 64 dimensions.
    yield Configuration("kv_write-7x64-e4m3", partial(write, 7, 64, E4M3))
    yield from rows()


def rows() -> Iterator[Configuration]:
    """Kernels that take a row or a page at a time; Qwen3-class and DeepSeek-V3 widths."""
    page = empty(PAGES, 2 * PAGE * 8 * 128)
    yield Configuration("page_pack", partial(pack_pages, page, integers(4)))
    buffer = empty(4, page.shape[1] * 2, dtype=torch.uint8)
    yield Configuration("page_unpack", partial(unpack_pages, page, integers(4), buffer))
    for width in (4096, 7168):
        norm = partial(rmsnorm, empty(4, width), empty(width), 1e-6)
        yield Configuration(f"rmsnorm-{width}", norm)
    for heads, dim in ((64, 128), (128, 64)):
        turn = partial(rope, empty(4, heads, dim), integers(4), floats(4096, dim))
        yield Configuration(f"rope-{heads}x{dim}", turn)
    logits = floats(4, 151_936)
    yield Configuration("sample-greedy", partial(sample_greedy, logits))
    seeds = empty(4, dtype=torch.int64)
    yield Configuration(
        "sample-seeded", partial(sample_seeded, logits, seeds, integers(4), floats(4))
    )


def decode(combine: str) -> Iterator[Configuration]:
    """The decode kernels in one combine mode; bf16 on all GPUs whose residency is asked for."""
    for dtype, cache in DTYPES.items():
        targets = ALL if cache == BF16 else TUNED
        for dim in (64, 128):
            name = f"gqa_decode-d{dim}-{dtype}-{combine}"
            yield Configuration(name, partial(decode_gqa, dim, cache, combine),
                                SPILLS.get(name, {}), targets)  # fmt: skip
        name = f"mla_decode-{dtype}-{combine}"
        yield Configuration(name, partial(decode_mla, 128, cache, combine),
                            architectures=targets)  # fmt: skip
        name = f"v4_decode-{dtype}-{combine}"
        yield Configuration(name, partial(decode_v4, cache, combine), SPILLS.get(name, {}), targets)
