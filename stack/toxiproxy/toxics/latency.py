"""latency: each chunk arrives `latency` ± `jitter` ms after it was sent, in order."""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from stack.toxiproxy.pipe import Chunk, Give, Interrupted, Memory, Pipe, Sleep, Take

MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class Latency:
    """Removed or updated, it delivers at once what it holds."""

    BUFFER_CHUNKS: ClassVar[int] = 1024  # as many as the real one; they wait, they do not block
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = False

    latency: int = 0  # ms
    jitter: int = 0  # ms

    def pipe(self, memory: Memory) -> Pipe:
        while (chunk := (yield Take())) is not None:
            wait_s = self.delay_s(memory.rng) - (time.monotonic() - chunk.at_s)
            try:
                yield Sleep(wait_s)
            except Interrupted:
                yield Give(chunk)
                raise
            # A second latency behind this one counts from the delayed arrival.
            yield Give(Chunk(chunk.data, chunk.at_s + wait_s))

    def delay_s(self, rng: Random) -> float:
        """Of one chunk, in seconds."""
        swing = rng.randrange(2 * self.jitter) - self.jitter if self.jitter > 0 else 0
        return (self.latency + swing) / MS_PER_S
