"""The engine's kernels as Triton launches, one sequence at a time: a GPU, or the interpreter.

The signatures are those of `eager`, which says what each argument is.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from kernels import kv_write as writing
from kernels import page_pack as packing
from kernels import prefill_attention as prefilling
from kernels.gqa_decode import block_tokens_for, gqa_decode
from kernels.pin import require_pinned_triton
from kernels.split_merge import SplitLaunch
from kernels.splits import Launch, plan, target_ctas

TARGET_CTAS_DEFAULT = 64
NO_BOUND = 1 << 30  # of residency: `last_arriver` waits for nobody, so that nothing is clamped

require_pinned_triton()


def paged_prefill_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, context: int
) -> Tensor:
    tokens = query.shape[0]
    return prefilling.prefill_attention(
        query.contiguous(), key_pages, value_pages, _row(block_table), _integers(query, 0, tokens),
        _integers(query, context + tokens), chunk_max=tokens)  # fmt: skip


def paged_decode_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, length: int
) -> Tensor:
    wanted = Launch((length,), key_pages.shape[2], block_tokens_for(query.shape[-1]),
                    "last_arriver", query.shape[0])  # fmt: skip
    target = target_ctas(os.environ, TARGET_CTAS_DEFAULT)
    launch = SplitLaunch(plan(wanted, target, NO_BOUND).splits)
    out = gqa_decode(query.contiguous()[None], key_pages, value_pages, _row(block_table),
                     _integers(query, length), launch)  # fmt: skip
    return out[0]


def kv_write(
    key: Tensor, value: Tensor, key_pages: Tensor, value_pages: Tensor, page: int, offset: int
) -> None:
    first = page * key_pages.shape[1] + offset
    slots = torch.arange(first, first + key.shape[0], dtype=torch.int32, device=key.device)
    writing.kv_write(key.contiguous(), key_pages, slots)
    writing.kv_write(value.contiguous(), value_pages, slots)


def page_pack(cache: Tensor, page: int) -> tuple[Tensor, int]:
    buffer, checksums = packing.pack_pages(cache, _integers(cache, page))
    return buffer[0].cpu(), _unsigned(checksums)


def page_unpack(cache: Tensor, page: int, payload: Tensor) -> int:
    buffer = payload.view(torch.uint8).to(cache.device)[None]
    return _unsigned(packing.unpack_pages(cache, _integers(cache, page), buffer))


def _integers(beside: Tensor, *values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.int32, device=beside.device)


def _row(block_table: Tensor) -> Tensor:
    """A table of its own, [1, width]: a slice of a longer one need not begin at 16 bytes."""
    return block_table.clone()[None]


def _unsigned(checksums: Tensor) -> int:
    return int(checksums[0]) & 0xFFFFFFFF
