"""The time axis of a picture: nanoseconds to pixels, round ticks, and the phases of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chaos.history import History
from chaos.reports.event_line import NS_PER_S, beginning_ns
from chaos.reports.lives import phases
from chaos.reports.palette import FAINT, GRID, INK
from chaos.reports.svg import group, line, text, width_px

TICKS_MAX = 12
MARGIN_PX = 38.0  # right of the axis, where a last label may stand
STEPS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True)
class Axis:
    from_ns: int
    to_ns: int
    left_px: float
    right_px: float

    @classmethod
    def of(cls, history: History, left_px: float, right_px: float) -> Axis:
        start = beginning_ns(history)
        end = max((event.at_ns for event in history), default=start)
        return cls(start, max(end, start + NS_PER_S // 100), left_px, right_px)

    def x(self, at_ns: int) -> float:
        share = (at_ns - self.from_ns) / (self.to_ns - self.from_ns)
        return self.left_px + share * (self.right_px - self.left_px)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Each tick's x and label; at most TICKS_MAX."""
        span_s = (self.to_ns - self.from_ns) / NS_PER_S
        step_s = next((step for step in STEPS_S if span_s / step <= TICKS_MAX), span_s / TICKS_MAX)
        for index in range(int(span_s / step_s + 1e-6) + 1):
            yield self.x(self.from_ns + int(index * step_s * NS_PER_S)), f"{index * step_s:g} s"

    def drawn(self, top_px: float, bottom_px: float) -> list[str]:
        """Grid lines from top to bottom, and their seconds below."""
        parts: list[str] = []
        for x, label in self.ticks():
            parts.append(line(x, top_px, x, bottom_px, stroke=GRID))
            parts.append(text(x, bottom_px + 15, label, 10, fill=FAINT, text_anchor="middle"))
        parts.append(line(self.left_px, bottom_px, self.right_px, bottom_px, stroke=FAINT))
        return parts


def phase_marks(axis: Axis, history: History, y_px: float) -> list[str]:
    """A tick where each phase began, and its name where the next tick leaves room for it."""
    parts = [text(axis.left_px - 12, y_px + 4, "phase", 10, fill=FAINT, text_anchor="end")]
    begun = phases(history)
    edges = [axis.x(event.at_ns) for event in begun] + [axis.right_px + MARGIN_PX]
    for event, x, next_x in zip(begun, edges, edges[1:], strict=False):
        mark = line(x, y_px - 6, x, y_px + 6, stroke=INK, stroke_width="1.2")
        parts.append(group([mark], event.about))
        if width_px(event.about, 10) + 6 <= next_x - x:
            parts.append(text(x + 4, y_px + 4, event.about, 10, fill=INK))
    return parts
