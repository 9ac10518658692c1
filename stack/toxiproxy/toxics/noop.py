"""noop: passes everything on. Also what a toxic does to those whom its toxicity spares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stack.toxiproxy.pipe import Give, Memory, Pipe, Take


@dataclass(frozen=True, slots=True)
class Noop:
    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = False

    def pipe(self, memory: Memory) -> Pipe:
        while (chunk := (yield Take())) is not None:
            yield Give(chunk)
