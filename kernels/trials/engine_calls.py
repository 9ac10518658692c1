"""Trials of the two ways in which the embedded engine can be served: launches against torch."""

import torch

from kernels import eager, launched
from kernels.trials.outcome import Outcome, compare, exactly, worst
from kernels.trials.paged import Source

LAYERS, PAGE, KV_HEADS, DIM = 2, 4, 2, 16
TOKENS = 11


def decode(name: str, device: str) -> Outcome:
    """One query over eleven tokens of the second layer of a page pool."""
    source = Source(name, device)
    pool = source.normal(6, LAYERS, 2, PAGE, KV_HEADS, DIM)
    query, table = source.normal(4, DIM), source.integers(5, 0, 3)
    return _agree("paged_decode_attention", query, pool[:, 1, 0], pool[:, 1, 1], table, TOKENS)


def prefill(name: str, device: str) -> Outcome:
    """Seven queries behind a prefix of four."""
    source = Source(name, device)
    pool = source.normal(6, LAYERS, 2, PAGE, KV_HEADS, DIM)
    query, table = source.normal(7, 4, DIM), source.integers(5, 0, 3)
    return _agree("paged_prefill_attention", query, pool[:, 1, 0], pool[:, 1, 1], table, TOKENS - 7)


def _agree(function: str, *arguments: torch.Tensor | int) -> Outcome:
    """The launched kernel against torch in float64, and torch in float32 as the noise."""
    wide = [
        one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one
        for one in arguments
    ]
    reference = getattr(eager, function)
    out = getattr(launched, function)(*arguments)
    return compare(out, reference(*wide), reference(*arguments))


def pages(name: str, device: str) -> Outcome:
    """KV written, a page packed, and unpacked elsewhere: the same bytes and the same checksum."""
    source = Source(name, device)
    pools = [torch.zeros(6, LAYERS, 2, PAGE, KV_HEADS, DIM, device=device) for _ in range(2)]
    key, value = source.normal(3, KV_HEADS, DIM), source.normal(3, KV_HEADS, DIM)
    found: list[Outcome] = []
    packed: list[torch.Tensor] = []
    sums: list[int] = []
    for pool, kernels in zip(pools, (launched, eager), strict=True):
        kernels.kv_write(key, value, pool[:, 1, 0], pool[:, 1, 1], 4, 1)
        payload, checksum = kernels.page_pack(pool, 4)
        sums += [checksum, kernels.page_unpack(pool, 2, payload)]
        packed.append(payload)
    found.append(exactly(packed[0], packed[1]))
    found.append(exactly(pools[0], pools[1]))
    found.append(Outcome(float(len(set(sums)) - 1), 0.0, f"checksums {sums}"))
    return worst(found)
