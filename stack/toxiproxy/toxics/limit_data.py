"""limit_data: exactly `bytes` bytes pass, then the connection closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stack.toxiproxy.pipe import Chunk, Give, Memory, Pipe, Take


@dataclass(frozen=True, slots=True)
class LimitData:
    """Counts from the moment it was put on, for each connection; an update does not restart it."""

    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = False

    bytes: int = 0

    def pipe(self, memory: Memory) -> Pipe:
        while (chunk := (yield Take())) is not None:
            passing = chunk.data[: max(0, self.bytes - memory.passed_bytes)]
            if passing:
                yield Give(Chunk(passing, chunk.at_s))
                memory.passed_bytes += len(passing)
            if memory.passed_bytes >= self.bytes:
                return
