"""timeout: a black hole. Everything is lost, and the connection closes when the toxic goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stack.toxiproxy.pipe import Memory, Pipe, Take

MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class Timeout:
    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = True
    RESETS: ClassVar[bool] = False

    timeout: int = 0  # ms without a chunk until it closes the connection; 0: never

    def pipe(self, memory: Memory) -> Pipe:
        within_s = self.timeout / MS_PER_S if self.timeout > 0 else None
        try:
            while (yield Take(within_s)) is not None:
                pass  # dropped
        except TimeoutError:
            return
