"""A health page that is red when the engine makes no progress, and not only when it is dead."""

from __future__ import annotations

from dataclasses import dataclass

from stack.engine.progress import Progress


@dataclass(frozen=True, slots=True)
class ProgressHealth:
    """Off, /health is 200 as long as the front breathes.

    Its clock is the step watchdog's: a step thread that stands still with work to do, or an engine
    that sends no beat, and nobody's queue.
    """

    on: bool
    timeout_s: float
    name: str = "progress_health"
    knob: str = "PDCHAOS_STEP_TIMEOUT"

    def complaint(self, progress: Progress) -> str | None:
        if not self.on or max(progress.silent_s, progress.stalled_s) < self.timeout_s:
            return None
        return f"no progress for {self.timeout_s:g} s with work pending"
