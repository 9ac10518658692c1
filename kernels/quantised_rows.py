"""A KV cache of latents of which all but RoPE's dimensions are e4m3.

As FlashMLA lays it out for DeepSeek-V4-Flash: a scale for each 64 of the quantised dimensions, and
the last 64 in the query's dtype, as positions do not survive 8 bits. FlashMLA packs the three into
584 bytes a row, with scales that are powers of two; here they are three tensors, and scales are
float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

E4M3 = torch.float8_e4m3fn
ROPE = 64  # dimensions that are never quantised
GROUP = 64  # dimensions that share a scale


@dataclass(frozen=True, slots=True)
class QuantisedRows:
    """latents [..., latent - 64] e4m3; ropes [..., 64] in the query's dtype; scales
    [..., (latent - 64) / 64] float32, what each 64 of the latents are multiplied by.
    """

    latents: torch.Tensor
    ropes: torch.Tensor
    scales: torch.Tensor


Cache = torch.Tensor | QuantisedRows


def parts(cache: Cache) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """A cache as the kernel takes it: latents, ropes, scales."""
    if isinstance(cache, QuantisedRows):
        return cache.latents, cache.ropes, cache.scales
    return cache, None, None


def require_quantised(query: torch.Tensor, name: str, cache: QuantisedRows, dims: int) -> None:
    """ValueError unless codes, ropes and scales belong to the same rows of the query's width."""
    coded = query.shape[2] - ROPE
    if coded < GROUP:
        raise ValueError(f"latent dim {query.shape[2]} has no room for {GROUP} dims beside RoPE's")
    rows = cache.latents.shape[:dims]
    expected = {
        "latents": (E4M3, (*rows, coded)),
        "ropes": (query.dtype, (*rows, ROPE)),
        "scales": (torch.float32, (*rows, coded // GROUP)),
    }
    for part, (dtype, shape) in expected.items():
        tensor: torch.Tensor = getattr(cache, part)
        if tensor.dtype != dtype or tensor.shape != shape:
            raise ValueError(
                f"{name}_cache.{part}: expected {shape} {dtype}, "
                f"got {tuple(tensor.shape)} {tensor.dtype}"
            )
