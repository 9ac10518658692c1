"""A client that is gone takes its request in the engine with it."""

from __future__ import annotations

from dataclasses import dataclass

from stack.engine.order import Failure


@dataclass(frozen=True, slots=True)
class AbortPropagation:
    """Off, the engine goes on for nobody, and keeps pages and slot until it is done.

    It has no clock: it acts when the front sees the connection's end, which it does without
    writing, whatever the reply waits for; slot and pages are back before the next step.
    """

    on: bool
    name: str = "abort_propagation"
    knob: str = "PDCHAOS_GUARDS_OFF"

    def failure(self, why: str) -> Failure:
        return Failure(self.name, f"{self.name}: {why}", 499)
