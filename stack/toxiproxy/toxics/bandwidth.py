"""bandwidth: at most `rate` KB (1,000 bytes) a second; rate 0 lets nothing through."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from stack.toxiproxy.pipe import Chunk, Give, Interrupted, Memory, Pipe, Sleep, Take

SLICE_S = 0.1  # a chunk that takes longer than this is sent in slices this long
BYTES_PER_KB = 1000


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Removed or updated, it delivers at once what it holds: a stall that heals."""

    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = False

    rate: int = 0  # KB/s

    def pipe(self, memory: Memory) -> Pipe:
        owed_s = 0.0
        while (chunk := (yield Take())) is not None:
            try:
                if self.rate <= 0:
                    yield Sleep(None)
                owed_s += len(chunk.data) / (self.rate * BYTES_PER_KB)
                slice_bytes = int(self.rate * BYTES_PER_KB * SLICE_S)
                while len(chunk.data) > slice_bytes:
                    yield Sleep(SLICE_S)
                    yield Give(Chunk(chunk.data[:slice_bytes], chunk.at_s))
                    chunk = Chunk(chunk.data[slice_bytes:], chunk.at_s)
                    owed_s -= SLICE_S
                began_s = time.monotonic()
                yield Sleep(owed_s)
                owed_s -= time.monotonic() - began_s  # timers are late; the next sleep makes up
            except Interrupted:
                yield Give(chunk)
                raise
            yield Give(chunk)
