"""The GPU that is really there: what it is called, and how long things take on it."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

GIB = 1 << 30
FLUSH_BYTES = 512 << 20  # more than any L2 cache of today
REPEATS = 15


@dataclass(frozen=True, slots=True)
class Card:
    """Figures are worth nothing without these."""

    name: str
    capability: int  # 120 for compute capability 12.0
    multiprocessors: int
    memory_bytes: int

    def __str__(self) -> str:
        return f"{self.name} (sm_{self.capability}, {self.multiprocessors} multiprocessors)"


def present_card() -> Card:
    """The current CUDA device; ValueError if there is none."""
    if not torch.cuda.is_available():
        raise ValueError("no CUDA GPU here: this command measures one")
    cuda: Any = torch.cuda  # it leaves the properties untyped
    found = cuda.get_device_properties(cuda.current_device())
    capability = found.major * 10 + found.minor
    return Card(found.name, capability, found.multi_processor_count, found.total_memory)


def seconds(work: Callable[[], object]) -> float:
    """The median time of `work` on the GPU, its launches captured so that no CPU time counts.

    The L2 cache is overwritten before each run: a decode step finds its KV in memory, not there.
    """
    work()
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    times_s: list[float] = []
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times_s.append(begin.elapsed_time(end) / 1_000)
    return statistics.median(times_s)


def copy_bytes_per_s() -> float:
    """The card's own speed: bytes read and written by a copy of 2 GiB, per second."""
    source = torch.empty(2 * GIB, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    taken_s = seconds(lambda: target.copy_(source))
    return 2 * source.numel() / taken_s
