"""reset_peer: the next chunk closes the connection, `timeout` ms later.

Connections made while it is on are closed by RST at both ends; one that was open before is
closed by FIN (the real one sets the socket option only when a connection begins).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stack.toxiproxy.pipe import Memory, Pipe, Sleep, Take

MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class ResetPeer:
    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = True

    timeout: int = 0  # ms

    def pipe(self, memory: Memory) -> Pipe:
        yield Take()
        # Once begun it cannot be called off, not even by taking the toxic away.
        yield Sleep(self.timeout / MS_PER_S, interruptible=False)
