"""What the launchers must refuse, each with a message that says what is supported."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from kernels import debug, golden
from kernels.device import gpu
from kernels.gqa_decode import gqa_decode
from kernels.kv_write import kv_write
from kernels.mla_decode import mla_decode
from kernels.page_pack import pack_pages
from kernels.pin import require_version
from kernels.prefill_attention import prefill_attention
from kernels.quantised_rows import Cache, QuantisedRows
from kernels.rmsnorm import rmsnorm
from kernels.rope import rope
from kernels.sample import sample_greedy
from kernels.split_merge import SplitLaunch
from kernels.trials.outcome import Outcome
from kernels.v4_decode import v4_decode

BF16 = torch.bfloat16
LAUNCH = SplitLaunch(2)


def zeros(*shape: int, dtype: torch.dtype = BF16, device: str = "cpu") -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


def integers(*shape: int) -> torch.Tensor:
    return zeros(*shape, dtype=torch.int32)


def gqa(changed: Mapping[str, torch.Tensor]) -> object:
    """A good call but for one tensor."""
    cache = zeros(4, 4, 2, 64)
    tensors = {
        "query": zeros(1, 4, 64),
        "key_cache": cache,
        "value_cache": cache,
        "block_table": integers(1, 2),
        "context_lens": integers(1),
    }
    query, keys, values, table, lens = {**tensors, **changed}.values()
    return gqa_decode(query, keys, values, table, lens, LAUNCH)


def mla(
    query: torch.Tensor,
    latents: torch.Tensor,
    ropes: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
    block_tokens: int = 32,
    table: torch.Tensor | None = None,
) -> object:
    ropes = zeros(*latents.shape[:2], 64) if ropes is None else ropes
    table = integers(1, 2) if table is None else table
    return mla_decode(query, zeros(*query.shape[:2], 64), latents, ropes, table,
                      integers(1), LAUNCH, softmax_scale=1.0, out=out,
                      block_tokens=block_tokens)  # fmt: skip


def gqa_with(out: torch.Tensor | None = None, block_tokens: int | None = None) -> object:
    cache = zeros(4, 4, 2, 64)
    return gqa_decode(zeros(1, 4, 64), cache, cache, integers(1, 2), integers(1), LAUNCH, out=out,
                      block_tokens=block_tokens)  # fmt: skip


def v4(
    query: torch.Tensor,
    near: Cache | None = None,
    far: Cache | None = None,
    block_tokens: int = 32,
    out: torch.Tensor | None = None,
    index: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> object:
    near = zeros(4, 4, 512) if near is None else near
    far = zeros(9, 512) if far is None else far
    table, chosen = index or (integers(1, 2), integers(1, 3))
    return v4_decode(query, near, far, table, integers(1), chosen, integers(1),
                     zeros(16, dtype=torch.float32), LAUNCH, softmax_scale=1.0, out=out,
                     block_tokens=block_tokens)  # fmt: skip


def quantised(*rows: int, groups: int = 7) -> QuantisedRows:
    codes = zeros(*rows, 448, dtype=torch.float8_e4m3fn)
    return QuantisedRows(codes, zeros(*rows, 64), zeros(*rows, groups, dtype=torch.float32))


def prefill(
    dim: int, chunk_max: int, values: torch.Tensor | None = None, context: int = 3,
    block: int = 64, table: torch.Tensor | None = None,
) -> object:  # fmt: skip
    """Three queries of one request."""
    cache = zeros(4, 4, 2, dim)
    starts, lens = torch.tensor([0, 3], dtype=torch.int32), torch.tensor([context]).int()
    return prefill_attention(zeros(3, 4, dim), cache, cache if values is None else values,
                             integers(1, 2) if table is None else table, starts, lens,
                             chunk_max=chunk_max,
                             block_tokens=block)  # fmt: skip


def in_debug_mode(call: Callable[[], object]) -> Callable[[], object]:
    def checked() -> object:
        before, debug.enabled = debug.enabled, True
        try:
            return call()
        finally:
            debug.enabled = before

    return checked


def beyond(call: Callable[[torch.Tensor], object], *shape: int) -> Callable[[], object]:
    """With an index that points behind the end of every cache here, caught in debug mode."""
    return in_debug_mode(lambda: call(torch.full(shape, 99, dtype=torch.int32)))


def unread() -> object:
    """Switched off, no check looks into a tensor; here that would be an AttributeError."""
    nothing: Any = None
    debug.require_below("slots", nothing, 1, "slots")
    debug.require_inside("pages", nothing, 1, "pages")
    debug.require_table(nothing, nothing, zeros(1, 1))
    raise ValueError("nothing was read")


def written(slots: torch.Tensor) -> object:
    return kv_write(zeros(1, 2, 8), zeros(1, 4, 2, 8), slots)


def page_of_three() -> object:
    cache = zeros(4, 3, 2, 64)
    return gqa({"key_cache": cache, "value_cache": cache})


def e4m3_without_scales() -> object:
    cache = zeros(4, 4, 2, 64).to(torch.float8_e4m3fn)
    return gqa({"key_cache": cache, "value_cache": cache})


def strided_table() -> object:
    return gqa({"block_table": integers(1, 4)[:, ::2]})


REFUSALS: dict[str, tuple[Callable[[], object], str]] = {
    "gqa head dim": (lambda: gqa({"query": zeros(1, 4, 96)}), "(16, 32, 64, 128)"),
    "gqa page size": (page_of_three, "page size 3 is not supported"),
    "gqa dtype": (lambda: gqa({"query": zeros(1, 4, 64, dtype=torch.float16)}), "bfloat16"),
    "gqa devices": (lambda: gqa({"query": zeros(1, 4, 64, device="meta")}), "one device"),
    "gqa strided table": (strided_table, "block_table must be contiguous"),
    "gqa unaligned": (lambda: gqa({"query": zeros(257)[1:].view(1, 4, 64)}), "16 bytes"),
    "gqa wide table": (lambda: gqa({"block_table": integers(1, 2).long()}), "int32"),
    "gqa heads": (lambda: gqa({"query": zeros(1, 3, 64)}), "do not divide"),
    "gqa scales": (e4m3_without_scales, "scales belong to e4m3"),
    "gqa out too small": (lambda: gqa_with(zeros(1, 2, 64)), "out: expected (1, 4, 64)"),
    "gqa out dtype": (lambda: gqa_with(zeros(1, 4, 64, dtype=torch.float32)), "torch.bfloat16"),
    "gqa value dtype": (
        lambda: gqa({"value_cache": zeros(4, 4, 2, 64, dtype=torch.float32)}),
        "both caches must have one dtype",
    ),
    "gqa block": (lambda: gqa_with(block_tokens=24), "a power of two, at least 16, got 24"),
    "gqa block of nothing": (lambda: gqa_with(block_tokens=0), "at least 16, got 0"),
    "gqa page beyond": (beyond(lambda table: gqa({"block_table": table}), 1, 2), "the 4 pages"),
    "mla out too small": (
        lambda: mla(zeros(1, 16, 512), zeros(4, 4, 512), out=zeros(1, 8, 512)),
        "out: expected (1, 16, 512)",
    ),
    "mla rope dtype": (
        lambda: mla(zeros(1, 16, 512), zeros(4, 4, 512), zeros(4, 4, 64, dtype=torch.float32)),
        "rope_cache must have the query's dtype",
    ),
    "mla block": (
        lambda: mla(zeros(1, 16, 512), zeros(4, 4, 512), block_tokens=48),
        "a power of two, at least 16, got 48",
    ),
    "mla heads": (lambda: mla(zeros(1, 20, 512), zeros(4, 4, 512)), "multiple of 16"),
    "mla latent": (lambda: mla(zeros(1, 16, 500), zeros(4, 4, 500)), "512"),
    "mla page size": (lambda: mla(zeros(1, 16, 512), zeros(4, 5, 512)), "page size 5"),
    "mla out dtype": (
        lambda: mla(
            zeros(1, 16, 512),
            zeros(4, 4, 512),
            out=zeros(1, 16, 512, dtype=torch.float32),
        ),
        "out: expected (1, 16, 512) torch.bfloat16",
    ),
    "v4 out too small": (
        lambda: v4(zeros(1, 16, 512), out=zeros(1, 8, 512)),
        "out: expected (1, 16, 512)",
    ),
    "v4 out dtype": (
        lambda: v4(zeros(1, 16, 512), out=zeros(1, 16, 512, dtype=torch.float32)),
        "torch.bfloat16, got (1, 16, 512) torch.float32",
    ),
    "v4 heads": (lambda: v4(zeros(1, 8, 512)), "multiple of 16"),
    "v4 dtype": (lambda: v4(zeros(1, 16, 512, dtype=torch.float32)), "the query's dtype"),
    "v4 one cache quantised": (lambda: v4(zeros(1, 16, 512), quantised(4, 4)), "both Quantised"),
    "v4 scales": (
        lambda: v4(zeros(1, 16, 512), quantised(4, 4, groups=4), quantised(9)),
        "window_cache.scales: expected (4, 4, 7)",
    ),
    "v4 block": (lambda: v4(zeros(1, 16, 512), block_tokens=24), "block_tokens 24"),
    "v4 no room": (
        lambda: v4(zeros(1, 16, 64), quantised(4, 4), quantised(9)),
        "no room for 64 dims beside RoPE's",
    ),
    "prefill head dim": (lambda: prefill(80, 3), "head dim 80 is not supported"),
    "prefill value dtype": (
        lambda: prefill(64, 3, zeros(4, 4, 2, 64, dtype=torch.float32)),
        "both caches must have one dtype",
    ),
    "prefill chunk max": (lambda: prefill(64, 2), "chunk_max is 2, but the longest chunk has 3"),
    "prefill context": (lambda: prefill(64, 3, context=2), "context_lens[0] is 2, shorter than"),
    "prefill block": (lambda: prefill(64, 3, block=48), "block_tokens: expected a power of two"),
    "prefill page beyond": (beyond(lambda table: prefill(64, 3, table=table), 1, 2), "the 4 pages"),
    "gqa context beyond": (
        beyond(lambda lens: gqa({"context_lens": lens}), 1),
        "99 tokens do not fit into the 2 pages of 4",
    ),
    "mla page beyond": (
        beyond(lambda table: mla(zeros(1, 16, 512), zeros(4, 4, 512), table=table), 1, 2),
        "block_table: 99 is beyond the 4 pages",
    ),
    "v4 page beyond": (
        beyond(lambda table: v4(zeros(1, 16, 512), index=(table, integers(1, 3))), 1, 2),
        "block_table: 99 is beyond the 4 pages of the window's cache",
    ),
    "v4 row beyond": (
        beyond(lambda chosen: v4(zeros(1, 16, 512), index=(integers(1, 2), chosen)), 1, 3),
        "chosen: 99 is beyond the 9 rows",
    ),
    "page_pack page beyond": (
        beyond(lambda pages: pack_pages(zeros(4, 4), pages), 1),
        "pages: 99 is beyond the 4 pages",
    ),
    "page_pack page before": (
        in_debug_mode(lambda: pack_pages(zeros(4, 4), -torch.ones(1, dtype=torch.int32))),
        "pages: -1 is before the first of the 4 pages",
    ),
    "rope position beyond": (
        beyond(lambda at: rope(zeros(1, 2, 16), at, zeros(4, 16, dtype=torch.float32)), 1),
        "positions: 99 is beyond the 4 positions",
    ),
    "nothing is read when off": (unread, "nothing was read"),
    "kv_write slot beyond": (beyond(written, 1), "slots: 99 is beyond the 4 slots of the cache"),
    "prefill chunk": (lambda: prefill(64, 0), "chunk_max"),
    "splits": (lambda: SplitLaunch(0), "at least 1"),
    "combine": (lambda: replace(LAUNCH, combine="both"), "two_pass, last_arriver"),
    "order": (lambda: replace(LAUNCH, order="any"), "tile_fastest, split_fastest"),
    "kv_write dtype": (
        lambda: kv_write(zeros(1, 2, 8), zeros(1, 1, 2, 8, dtype=torch.float16), integers(1)),
        "into itself or e4m3",
    ),
    "kv_write slots": (
        lambda: kv_write(zeros(1, 2, 8), zeros(1, 1, 2, 8), integers(2)),
        "slots must be int32 [1]",
    ),
    "page_pack bytes": (lambda: pack_pages(zeros(2, 3), integers(1)), "whole number of words"),
    "rmsnorm width": (lambda: rmsnorm(zeros(1, 20_000), zeros(20_000), 1e-6), "16384"),
    "rope head dim": (
        lambda: rope(zeros(1, 2, 48), integers(1), zeros(4, 48, dtype=torch.float32)),
        "(16, 32, 64, 128)",
    ),
    "sample dtype": (lambda: sample_greedy(integers(1, 5)), "not supported"),
    "unknown GPU": (lambda: gpu("rtx-9000"), "rtx-pro-6000"),
    "unknown configuration": (lambda: golden.resident_ctas("gqa", "h200"), "mla_decode-bf16"),
    "other Triton": (lambda: require_version("3.10.0"), "pinned to 3.9"),
}


def refused(name: str, device: str) -> Outcome:  # noqa: ARG001 - refusals need no device
    """Error 0 if the call raised ValueError and said what is supported, else 1."""
    call, said = REFUSALS[name.removeprefix("refuses ")]
    try:
        call()
    except ValueError as error:
        return Outcome(float(said not in str(error)), 0.0, f"said: {error}")
    return Outcome(1.0, 0.0, "was not refused")
