"""Keeps labels on one line from lying upon each other."""

from __future__ import annotations

from chaos.reports.svg import width_px

GAP_PX = 5.0


class Shelf:
    """One line of labels: a label is put where there is room, or not at all."""

    def __init__(self, left_px: float, right_px: float) -> None:
        self._left_px = left_px
        self._right_px = right_px
        self._taken: list[tuple[float, float]] = []

    def place(self, x_px: float, words: str, size_px: float) -> float | None:
        """Where this label begins, as near to the right of x as it can; None: there is no room."""
        width = width_px(words, size_px)
        for start in (x_px, x_px - width):
            if self._free(start, start + width):
                self._taken.append((start, start + width))
                return start
        return None

    def _free(self, start_px: float, end_px: float) -> bool:
        inside = self._left_px <= start_px and end_px <= self._right_px
        return inside and all(
            end_px + GAP_PX <= left or right + GAP_PX <= start_px for left, right in self._taken
        )
