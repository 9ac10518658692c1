"""Checks of what tensors hold, not of their shapes: off unless PDCHAOS_KERNELS_DEBUG is 1.

Reading a tensor waits for the GPU, so that a launcher must not do it on its own. Switched off, a
check is one look at a boolean.
"""

import os

import torch

SWITCH = "PDCHAOS_KERNELS_DEBUG"
enabled = os.environ.get(SWITCH, "") == "1"


def require_below(name: str, numbers: torch.Tensor, limit: int, what: str) -> None:
    """ValueError, in debug mode, if a number points behind the end of what it points into."""
    if enabled and _largest(numbers) >= limit:
        raise ValueError(f"{name}: {_largest(numbers)} is beyond the {limit} {what}")


def require_inside(name: str, numbers: torch.Tensor, limit: int, what: str) -> None:
    """Likewise, where a number below 0 stands for nothing."""
    require_below(name, numbers, limit, what)
    if enabled and _largest(-numbers) > 0:
        raise ValueError(f"{name}: {-_largest(-numbers)} is before the first of the {limit} {what}")


def require_table(
    block_table: torch.Tensor, context_lens: torch.Tensor, cache: torch.Tensor
) -> None:
    """ValueError, in debug mode, if a page is beyond the cache [pages, page, ...], or a context
    longer than its pages."""
    pages, page = cache.shape[:2]
    require_below("block_table", block_table, pages, "pages of the cache")
    if enabled and _largest(context_lens) > block_table.shape[1] * page:
        raise ValueError(
            f"context_lens: {_largest(context_lens)} tokens do not fit into the "
            f"{block_table.shape[1]} pages of {page} of a row of block_table"
        )


def _largest(numbers: torch.Tensor) -> int:
    """-1 where there is nothing to read."""
    is_there = numbers.numel() and numbers.device.type != "meta"
    return int(numbers.max()) if is_there else -1


def require_chunks(query_starts: torch.Tensor, context_lens: torch.Tensor, chunk_max: int) -> None:
    """ValueError if a chunk is longer than `chunk_max`, or than its context.

    On a CPU, where reading costs nothing, always; on a GPU in debug mode.
    """
    on_cpu = query_starts.device.type == context_lens.device.type == "cpu"
    if not (on_cpu or (enabled and query_starts.device.type != "meta")) or not len(context_lens):
        return
    chunks = query_starts[1:] - query_starts[:-1]
    longest = int(chunks.max())
    if longest > chunk_max:
        raise ValueError(f"chunk_max is {chunk_max}, but the longest chunk has {longest} queries")
    if bool((context_lens < chunks).any()):
        request = int((context_lens < chunks).nonzero()[0])
        raise ValueError(
            f"context_lens[{request}] is {int(context_lens[request])}, shorter than its chunk of "
            f"{int(chunks[request])}: a context is prefix and chunk together"
        )
