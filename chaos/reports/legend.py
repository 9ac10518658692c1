"""The key below the timeline."""

from __future__ import annotations

from chaos.event import Kind
from chaos.reports.palette import ALERT, ENDINGS, FAINT, FAULT, GUARD, HUNG
from chaos.reports.svg import box, line, path, text, width_px

SIZE_PX = 10.0
ENDED = (Kind.FINISHED, Kind.REFUSED, Kind.BROKE, Kind.CANCELLED)


def legend(left_px: float, y_px: float, left_out: int) -> list[str]:
    """Every colour and mark with its word; and how many requests have no row."""
    entries = [(_rule(ENDINGS[kind]), kind.value) for kind in ENDED]
    entries += [
        (_rule(HUNG, "7 4"), "never ended"),
        ([box(0, -7, 16, 9, fill=FAULT)], "fault"),
        ([path([(8, -8), (13, -3), (8, 2), (3, -3)], fill=GUARD)], "guard acted"),
        ([path([(8, -8), (13, 1), (3, 1)], fill=ALERT)], "alert"),
    ]
    parts: list[str] = []
    x = left_px
    for shapes, word in entries:
        moved = f'<g transform="translate({x:.0f} {y_px:.0f})">{"".join(shapes)}</g>'
        parts += [moved, text(x + 22, y_px, word, SIZE_PX, fill=FAINT)]
        x += 22 + width_px(word, SIZE_PX) + 18
    if left_out:
        parts.append(text(x, y_px, f"{left_out} more requests without a row", SIZE_PX, fill=FAINT))
    return parts


def _rule(colour: str, dashes: str = "none") -> list[str]:
    return [line(0, -3, 16, -3, stroke=colour, stroke_width="2.8", stroke_dasharray=dashes)]
