"""How long the engine has been silent, and how long it has stood still with work to do."""

from __future__ import annotations

from dataclasses import dataclass

LOOK_S = 0.05  # how often the front looks
GAP_S_MAX = 3 * LOOK_S  # a longer gap was our own pause: a frozen front accuses nobody


@dataclass(slots=True)
class Progress:
    """Counts seconds between looks, each no longer than a usual gap."""

    silent_s: float = 0.0
    stalled_s: float = 0.0
    _at_s: float | None = None
    _beats: int = -1
    _turns: int = -1

    def look(self, now_s: float, beats: int, turns: int, pending: int) -> None:
        """`beats` counts the engine's messages, `turns` its steps; pending is work it has."""
        gap_s = 0.0 if self._at_s is None else min(now_s - self._at_s, GAP_S_MAX)
        self._at_s = now_s
        self.silent_s = 0.0 if beats != self._beats else self.silent_s + gap_s
        moved = turns != self._turns or not pending
        self.stalled_s = 0.0 if moved else self.stalled_s + gap_s
        self._beats, self._turns = beats, turns
