"""The engine's kernels in plain torch, one sequence at a time: what a CPU serves with."""

from __future__ import annotations

import torch
from torch import Tensor


def gather_pages(pages: Tensor, block_table: Tensor, length: int) -> Tensor:
    """[pages, page, kv_heads, dim] by a table of page numbers -> [kv_heads, length, dim]."""
    chosen = pages.index_select(0, block_table)
    return chosen.flatten(0, 1)[:length].transpose(0, 1)


def paged_prefill_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, context: int
) -> Tensor:
    """Causal attention of [tokens, heads, dim] queries at positions context, context + 1, ...

    `block_table` (int32) names the pages that hold positions 0 to context + tokens - 1.
    """
    tokens, heads, dim = query.shape
    length = context + tokens
    keys = gather_pages(key_pages, block_table, length)
    values = gather_pages(value_pages, block_table, length)
    kv_heads = keys.shape[0]
    grouped = query.view(tokens, kv_heads, heads // kv_heads, dim).permute(1, 2, 0, 3)
    scores = torch.matmul(grouped, keys.transpose(1, 2).unsqueeze(1)) * dim**-0.5
    future = torch.ones(tokens, length, dtype=torch.bool, device=query.device)
    scores = scores.masked_fill(future.triu(context + 1), float("-inf"))
    mixed = torch.matmul(torch.softmax(scores, dim=-1), values.unsqueeze(1))
    return mixed.permute(2, 0, 1, 3).reshape(tokens, heads, dim)


def paged_decode_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, length: int
) -> Tensor:
    """Attention of one [heads, dim] query over the first `length` positions of its pages."""
    heads, dim = query.shape
    keys = gather_pages(key_pages, block_table, length)
    values = gather_pages(value_pages, block_table, length)
    grouped = query.view(keys.shape[0], -1, dim)
    scores = torch.bmm(grouped, keys.transpose(1, 2)) * dim**-0.5
    return torch.bmm(torch.softmax(scores, dim=-1), values).reshape(heads, dim)


def kv_write(
    key: Tensor, value: Tensor, key_pages: Tensor, value_pages: Tensor, page: int, offset: int
) -> None:
    """Store [tokens, kv_heads, dim] keys and values in one page, from slot `offset` on."""
    end = offset + key.shape[0]
    key_pages[page, offset:end] = key
    value_pages[page, offset:end] = value


def page_checksum(payload: Tensor) -> int:
    """A 32-bit sum of 32-bit words, each times an odd weight of its place.

    One flipped bit always changes it, and so does almost every exchange of two words.
    """
    words = payload.view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    weights = torch.arange(words.numel(), dtype=torch.int64, device=words.device) * 2 + 1
    return int((words * weights & 0xFFFFFFFF).sum()) & 0xFFFFFFFF


def page_pack(cache: Tensor, page: int) -> tuple[Tensor, int]:
    """One page of [pages, ...] as flat bytes on the host, and their checksum."""
    payload = cache[page].reshape(-1).view(torch.uint8).cpu()
    return payload, page_checksum(payload)


def page_unpack(cache: Tensor, page: int, payload: Tensor) -> int:
    """Write flat bytes into one page; the checksum is of what was written."""
    target = cache[page]
    target.copy_(payload.view(cache.dtype).view(target.shape))
    return page_checksum(payload)
