"""slow_close: everything passes, but the close only `delay` ms later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stack.toxiproxy.pipe import Give, Memory, Pipe, Sleep, Take

MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class SlowClose:
    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = False

    delay: int = 0  # ms

    def pipe(self, memory: Memory) -> Pipe:
        while (chunk := (yield Take())) is not None:
            yield Give(chunk)
        yield Sleep(self.delay / MS_PER_S)
