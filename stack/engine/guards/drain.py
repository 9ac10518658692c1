"""A worker that is told to go admits nothing new, finishes what it has, and goes in a bound."""

from __future__ import annotations

from dataclasses import dataclass

from stack.engine.order import UNAVAILABLE, Failure


@dataclass(slots=True)
class Drain:
    """Off, a worker that is told to go drops what it has.

    Its clock counts from the first SIGTERM on, whatever is waited for: who told it to go will not
    wait for ever. A second SIGTERM ends the waiting at once.
    """

    on: bool
    timeout_s: float
    name: str = "drain"
    knob: str = "PDCHAOS_DRAIN_TIMEOUT"
    _since_s: float | None = None

    @property
    def begun(self) -> bool:
        return self._since_s is not None

    def begin(self, now_s: float) -> None:
        self._since_s = now_s

    def over(self, now_s: float) -> bool:
        return self._since_s is not None and now_s - self._since_s >= self.timeout_s

    def refusal(self) -> Failure | None:
        """What whoever comes now is told; None while the worker stays."""
        if not self.begun:
            return None
        return self.failure("this worker was told to go, and takes nothing new")

    def failure(self, why: str) -> Failure:
        return Failure(self.name, f"{self.name}: {why}", UNAVAILABLE)
