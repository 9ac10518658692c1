"""What every kernel must compute, in plain torch and float32: the references.

Slow, obvious, and without a single trick that a kernel uses.
"""
# ruff: noqa: PLR0913 - a reference takes what its kernel takes

import torch


def gather_rows(cache: torch.Tensor, block_table: torch.Tensor, count: int) -> torch.Tensor:
    """The first `count` token rows of one request: cache [pages, page, ...] -> [count, ...]."""
    pages = -(-count // cache.shape[1])
    return cache[block_table[:pages].long()].flatten(0, 1)[:count]


def dequantised(cache: torch.Tensor, scale: torch.Tensor | None) -> torch.Tensor:
    """The cache as float32, times its scale per row when it has one."""
    wide = cache.float()
    return wide if scale is None else wide * scale[..., None]


def gqa_decode(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
               block_table: torch.Tensor, context_lens: torch.Tensor, *,
               scales: tuple[torch.Tensor, torch.Tensor] | None = None,
               ) -> torch.Tensor:  # fmt: skip
    """Shapes as in `gqa_decode.gqa_decode`; float32 [requests, heads, dim]."""
    keys = dequantised(key_cache, scales[0] if scales else None)
    values = dequantised(value_cache, scales[1] if scales else None)
    group = query.shape[1] // key_cache.shape[2]
    out = torch.zeros(query.shape, dtype=torch.float32, device=query.device)
    for request in range(query.shape[0]):
        context = int(context_lens[request])
        if context == 0:
            continue
        key = gather_rows(keys, block_table[request], context).repeat_interleave(group, 1)
        value = gather_rows(values, block_table[request], context).repeat_interleave(group, 1)
        scores = torch.einsum("hd,nhd->hn", query[request].float(), key) / query.shape[-1] ** 0.5
        out[request] = torch.einsum("hn,nhd->hd", scores.softmax(-1), value)
    return out


def mla_decode(query: torch.Tensor, query_rope: torch.Tensor, latent_cache: torch.Tensor,
               rope_cache: torch.Tensor, block_table: torch.Tensor, context_lens: torch.Tensor,
               *, softmax_scale: float,
               latent_scale: torch.Tensor | None = None) -> torch.Tensor:  # fmt: skip
    """Shapes as in `mla_decode.mla_decode`; float32 [requests, heads, latent]."""
    latents = dequantised(latent_cache, latent_scale)
    out = torch.zeros(query.shape, dtype=torch.float32, device=query.device)
    for request in range(query.shape[0]):
        context = int(context_lens[request])
        if context == 0:
            continue
        latent = gather_rows(latents, block_table[request], context)
        rope = gather_rows(rope_cache, block_table[request], context).float()
        scores = query[request].float() @ latent.T + query_rope[request].float() @ rope.T
        out[request] = (scores * softmax_scale).softmax(-1) @ latent
    return out
