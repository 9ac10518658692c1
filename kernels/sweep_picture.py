"""The sweep as an SVG: context to the right, TARGET_CTAS upwards, one panel per setting."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

COLOURS = {"safe": "#cfe8d5", "deadlock": "#c8352b", "refused": "#9a9a9a"}
LEGEND = {
    "safe": "safe in every launch order",
    "deadlock": "deadlock",
    "refused": "refused",
}
PANEL_WIDTH, PANEL_HEIGHT = 300, 190
LEFT, TOP, GAP_X, GAP_Y = 58, 72, 62, 62
ACROSS = 3
FONT = 'font-family="sans-serif" font-size="11" shape-rendering="crispEdges"'
TICKS = (512, 2048, 8192, 32768, 131072)


@dataclass(frozen=True, slots=True)
class Panel:
    """One small map. `rows`: for each TARGET_CTAS, an outcome per context."""

    title: str
    residency: int
    contexts: Sequence[int]
    rows: Mapping[int, Sequence[str]]


def picture(panels: Sequence[Panel], caption: str) -> str:
    """The whole SVG. Colours are never alone: the legend names them and R is a dashed line."""
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // ACROSS)
    width = LEFT + across * (PANEL_WIDTH + GAP_X)
    height = TOP + down * (PANEL_HEIGHT + GAP_Y) + 10
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
        "<title>Which TARGET_CTAS and context deadlock</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_legend(caption),
    ]
    for index, panel in enumerate(panels):
        x = LEFT + index % ACROSS * (PANEL_WIDTH + GAP_X)
        y = TOP + index // ACROSS * (PANEL_HEIGHT + GAP_Y)
        body += [f'<g transform="translate({x} {y})">', *_panel(panel), "</g>"]
    return "\n".join([*body, "</svg>"]) + "\n"


def _legend(caption: str) -> Iterator[str]:
    x = LEFT
    for outcome, meaning in LEGEND.items():
        yield f'<rect x="{x}" y="10" width="12" height="12" fill="{COLOURS[outcome]}"/>'
        yield _text(x + 16, 20, meaning)
        x += 34 + 6 * len(meaning)
    yield _text(LEFT, 40, f"dashed: {caption}. Equal lengths in a batch.")


def _panel(panel: Panel) -> Iterator[str]:
    targets = sorted(panel.rows)
    tall = PANEL_HEIGHT / len(targets)
    yield _text(0, -8, panel.title, weight="bold")
    for row, target in enumerate(targets):
        y = PANEL_HEIGHT - (row + 1) * tall
        yield from _runs(panel.contexts, panel.rows[target], y, tall)
    yield f'<rect width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" stroke="#444444"/>'
    yield from _axes(panel, targets)


def _runs(contexts: Sequence[int], outcomes: Sequence[str], y: float, tall: float) -> Iterator[str]:
    """One rectangle for each stretch of equal outcomes."""
    at = 0
    for outcome, group in groupby(outcomes):
        until = at + len(list(group))
        left = 0.0 if at == 0 else _x(contexts, contexts[at - 1])
        right = _x(contexts, contexts[until - 1])
        yield (
            f'<rect x="{left:.1f}" y="{y:.2f}" width="{right - left:.1f}" '
            f'height="{tall + 0.1:.2f}" fill="{COLOURS[outcome]}"/>'
        )
        at = until


def _x(contexts: Sequence[int], context: int) -> float:
    span = math.log(contexts[-1] / contexts[0])
    return PANEL_WIDTH * math.log(context / contexts[0]) / span


def _axes(panel: Panel, targets: list[int]) -> Iterator[str]:
    top = targets[-1]
    for context in (tick for tick in TICKS if panel.contexts[0] <= tick <= panel.contexts[-1]):
        x = _x(panel.contexts, context)
        label = f"{context // 1024}k" if context >= 1024 else str(context)  # noqa: PLR2004 - 1 Ki
        yield f'<path d="M{x:.1f} {PANEL_HEIGHT} v4" stroke="#444444"/>'
        yield _text(x, PANEL_HEIGHT + 16, label, anchor="middle")
    for target in (128, 256, 384, 512, 640):
        y = PANEL_HEIGHT * (1 - target / top)
        if y >= 0:
            yield _text(-6, y + 4, str(target), anchor="end")
    if panel.residency <= top:
        y = PANEL_HEIGHT * (1 - panel.residency / top)
        yield (
            f'<line x1="0" y1="{y:.1f}" x2="{PANEL_WIDTH}" y2="{y:.1f}" stroke="#222222" '
            'stroke-dasharray="5 3"/>'
        )
    yield _text(PANEL_WIDTH / 2, PANEL_HEIGHT + 30, "context, tokens", anchor="middle")
    yield (
        f'<text transform="translate(-40 {PANEL_HEIGHT / 2}) rotate(-90)" '
        'text-anchor="middle">TARGET_CTAS</text>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
