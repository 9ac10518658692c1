"""What else decodes attention on this machine: torch's SDPA, FlashInfer, flash-attn.

Only for the bandwidth table. A peer that is not installed is left out; one that fails says so, and
does not spoil the table.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingImports=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
#   (because the peers are optional and untyped)

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn.functional import scaled_dot_product_attention

from kernels.card import seconds

WORKSPACE_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class Decode:
    """One decode step over paged KV; all requests have the same length."""

    query: torch.Tensor  # [requests, heads, dim]
    keys: torch.Tensor  # [pages, page, kv_heads, dim]
    values: torch.Tensor
    table: torch.Tensor  # [requests, width] int32
    lengths: torch.Tensor  # [requests] int32


def peer_seconds(step: Decode) -> dict[str, float]:
    """Seconds of every peer that is installed and works."""
    makers: dict[str, Callable[[Decode], Callable[[], object]]] = {"torch SDPA": sdpa}
    if importlib.util.find_spec("flashinfer"):
        makers["FlashInfer"] = flashinfer
    if importlib.util.find_spec("flash_attn"):
        makers["flash-attn"] = flash_attn
    taken: dict[str, float] = {}
    for name, make in makers.items():
        try:
            taken[name] = seconds(make(step))
        except Exception as error:  # noqa: BLE001 - an optional report: our own figures must survive
            sys.stderr.write(f"{name} left out: {type(error).__name__}: {error}\n")
    return taken


def sdpa(step: Decode) -> Callable[[], object]:
    """KV that lies in one piece, which is the best that SDPA can be given."""
    requests, (_, page, kv_heads, dim) = step.query.shape[0], step.keys.shape
    context = step.table.shape[1] * page
    keys, values = (
        cache.view(requests, context, kv_heads, dim).transpose(1, 2).contiguous()
        for cache in (step.keys, step.values)
    )
    query = step.query[:, :, None]
    return lambda: scaled_dot_product_attention(query, keys, values, enable_gqa=True)


def flashinfer(step: Decode) -> Callable[[], object]:
    from flashinfer import BatchDecodeWithPagedKVCacheWrapper  # noqa: PLC0415 - it is optional

    requests, width = step.table.shape
    _, page, kv_heads, dim = step.keys.shape
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
    wrapper = BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=True)
    starts = torch.arange(requests + 1, dtype=torch.int32, device="cuda") * width
    last = torch.full((requests,), page, dtype=torch.int32, device="cuda")
    wrapper.plan(starts, step.table.flatten(), last, step.query.shape[1], kv_heads, dim, page,
                 q_data_type=step.query.dtype, kv_data_type=step.keys.dtype)  # fmt: skip
    return lambda: wrapper.run(step.query, (step.keys, step.values))


def flash_attn(step: Decode) -> Callable[[], object]:
    """Paged, in pages of 256 made from four of ours, as flash-attn 2 wants them."""
    from flash_attn import flash_attn_with_kvcache  # noqa: PLC0415 - it is optional

    pages, page, kv_heads, dim = step.keys.shape
    larger = (pages * page // 256, 256, kv_heads, dim)
    keys, values = step.keys.view(larger), step.values.view(larger)
    width = step.table.shape[1] * page // 256
    table = torch.arange(larger[0], dtype=torch.int32, device="cuda").view(-1, width)
    query = step.query[:, None]
    return lambda: flash_attn_with_kvcache(
        query, keys, values, cache_seqlens=step.lengths, block_table=table
    )
