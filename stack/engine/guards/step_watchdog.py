"""A frozen or hung engine is replaced: its requests are told, then it is killed."""

from __future__ import annotations

from dataclasses import dataclass

from stack.engine.progress import Progress


@dataclass(frozen=True, slots=True)
class StepWatchdog:
    """Lives in the front process, which a frozen engine does not stop.

    Its clock counts the time in which the step thread makes no turn and no token while it has work,
    or the engine sends no beat; whoever queues in a loop that turns is waiting, and not hung.
    """

    on: bool
    timeout_s: float
    name: str = "step_watchdog"
    knob: str = "PDCHAOS_STEP_TIMEOUT"

    def verdict(self, progress: Progress) -> str | None:
        """Why the engine must go; None while it lives."""
        if not self.on:
            return None
        if progress.silent_s >= self.timeout_s:
            return f"the engine did not answer for {self.timeout_s:g} s"
        if progress.stalled_s >= self.timeout_s:
            return f"the engine made no step for {self.timeout_s:g} s with work pending"
        return None
