"""Where along the context, and from which batch on, a split plan leaves what can be resident."""

from __future__ import annotations

from dataclasses import replace

from kernels.splits import Launch, never_started, splits_wanted


def deadlock_zones(
    launch: Launch, target: int, residency: int, context_max: int
) -> tuple[tuple[int, int], ...]:
    """Runs of lengths that deadlock when every request has that length, unclamped.

    Each run is (first, last) in KV rows, one per token where attention is dense, and is made of
    whole KV blocks. There can be several: splits that the blocks do not fill are empty and wait for
    nobody, so that a longer context can be safe where a shorter one is not.
    """
    zones: list[tuple[int, int]] = []
    block, batch = launch.block_tokens, len(launch.contexts)
    for blocks in range(1, -(-context_max // block) + 1):
        last = min(blocks * block, context_max)
        alike = replace(launch, contexts=(last,) * batch, rows=())
        if not never_started(alike, splits_wanted(alike, target), residency):
            continue
        first = (blocks - 1) * block + 1
        if zones and zones[-1][1] == first - 1:
            first = zones.pop()[0]
        zones.append((first, last))
    return tuple(zones)


def first_deadlock(launch: Launch, target: int, residency: int, context_max: int) -> int | None:
    """The shortest context, in tokens, at which this batch hangs; None if none up to the max."""
    zones = deadlock_zones(launch, target, residency, context_max)
    return zones[0][0] if zones else None


def first_overflow(
    launch: Launch, target: int, residency: int, *, batch_max: int, context_max: int
) -> tuple[int, int] | None:
    """The smallest batch, and for it the shortest context, whose unclamped grid exceeds R."""
    for batch in range(1, batch_max + 1):
        tiles = batch * launch.tiles_per_request
        splits = residency // tiles + 1  # as few as exceed R
        if splits > max(1, target // tiles):
            continue
        context = (splits - 1) * launch.block_tokens + 1
        if context <= context_max:
            return batch, context
    return None
