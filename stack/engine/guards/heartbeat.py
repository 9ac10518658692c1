"""One peer's pulse: beats sent, answers missed. Both heartbeat guards count with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pulse:
    """A miss is a beat without an answer before the next one is due."""

    failures_max: int
    misses: int = 0
    _answered: bool = True

    def beat(self) -> bool:
        """The next beat is due; True when the peer counts as dead."""
        self.misses = 0 if self._answered else self.misses + 1
        self._answered = False
        return self.misses >= self.failures_max

    def answer(self) -> None:
        self._answered = True
        self.misses = 0
