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
    if not enabled or not numbers.numel() or numbers.device.type == "meta":
        return
    largest = int(numbers.max())
    if largest >= limit:
        raise ValueError(f"{name}: {largest} is beyond the {limit} {what}")


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
