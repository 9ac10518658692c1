"""slicer: chunks arrive in pieces of about `average_size` bytes, `delay` µs apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from stack.toxiproxy.pipe import Chunk, Give, Interrupted, Memory, Pipe, Sleep, Take

US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Slicer:
    """Removed or updated, it delivers the rest of the chunk in one piece."""

    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = False

    average_size: int = 0  # bytes
    size_variation: int = 0  # bytes; to be smaller than the average
    delay: int = 0  # µs

    def pipe(self, memory: Memory) -> Pipe:
        while (chunk := (yield Take())) is not None:
            for end, piece in self.pieces(chunk.data, memory.rng):
                yield Give(Chunk(piece, chunk.at_s))
                try:
                    yield Sleep(self.delay / US_PER_S)
                except Interrupted:
                    yield Give(Chunk(chunk.data[end:], chunk.at_s))
                    raise

    def pieces(self, data: bytes, rng: Random) -> Iterator[tuple[int, bytes]]:
        """Halve, with some variation, until the pieces are small enough: no odd last piece."""
        todo = [(0, len(data))]
        while todo:
            start, end = todo.pop()
            if end - start <= max(1, self.average_size + self.size_variation):
                yield end, data[start:end]
                continue
            middle = start + (end - start) // 2 + self._swing(rng)
            middle = min(max(middle, start + 1), end - 1)
            todo += [(middle, end), (start, middle)]

    def _swing(self, rng: Random) -> int:
        variation = self.size_variation
        return rng.randrange(2 * variation) - variation if variation > 0 else 0
