"""One row of the timeline: a request's line, its stages, and the guards that acted on it."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.event import Event
from chaos.reports.axis import Axis
from chaos.reports.lives import Life
from chaos.reports.palette import ENDINGS, FAINT, GUARD, HUNG, INK
from chaos.reports.shelf import Shelf
from chaos.reports.svg import group, line, path, shortened, text

ROW_PX = 40.0
LABEL_PX = 9.0
NAME_PX = 165.0


def request_lane(axis: Axis, life: Life, y_px: float) -> list[str]:
    """Prefill's stages stand above the line, decode's below; a guard is a diamond upon it."""
    above = Shelf(axis.left_px, axis.right_px + 36)
    below = Shelf(axis.left_px, axis.right_px + 36)
    parts = [_name(life.request_id, axis.left_px, y_px), *_line(axis, life, y_px)]
    parts += [_guard(axis, event, y_px, (above, below)) for event in life.guards]
    for event in reversed(life.stages):  # where it stood last is told first
        over = not event.actor.startswith("decode")
        parts.append(_stage(axis, event, y_px, above if over else below, over=over))
    return parts


def node_guard_lane(axis: Axis, guards: Sequence[Event], y_px: float) -> list[str]:
    """The guards that acted on a node rather than on one request; nothing where none did."""
    if not guards:
        return []
    shelves = Shelf(axis.left_px, axis.right_px + 36), Shelf(axis.left_px, axis.right_px + 36)
    marks = [_guard(axis, event, y_px, shelves) for event in guards]
    rule = line(axis.left_px, y_px, axis.right_px, y_px, stroke=FAINT, stroke_dasharray="1 4")
    return [_name("guards on nodes", axis.left_px, y_px), rule, *marks]


def _name(words: str, left_px: float, y_px: float) -> str:
    shown = shortened(words, NAME_PX, 11)
    return text(left_px - 12, y_px + 4, shown, 11, fill=INK, text_anchor="end")


def _line(axis: Axis, life: Life, y_px: float) -> list[str]:
    start = axis.x(life.sent.at_ns)
    dot = f'<circle cx="{start:.1f}" cy="{y_px:.1f}" r="3.2"'
    if life.ended is None:
        rule = line(
            start,
            y_px,
            axis.right_px,
            y_px,
            stroke=HUNG,
            stroke_width="2.4",
            stroke_dasharray="7 4",
        )
        tip = f"{life.request_id}: sent, and never ended"
        head = path(
            [(axis.right_px - 7, y_px - 5), (axis.right_px, y_px), (axis.right_px - 7, y_px + 5)],
            fill="none",
            stroke=HUNG,
            stroke_width="2.4",
        )
        return [group([rule, head, f'{dot} fill="{HUNG}"/>'], tip)]
    colour, end = ENDINGS[life.ended.kind], axis.x(life.ended.at_ns)
    rule = line(start, y_px, max(end, start + 2), y_px, stroke=colour, stroke_width="2.8")
    stop = line(end, y_px - 5, end, y_px + 5, stroke=colour, stroke_width="2.8")
    tip = f"{life.request_id}: {life.ended.kind.value} {_detail(life.ended)}"
    return [group([rule, stop, f'{dot} fill="{colour}"/>'], tip)]


def _stage(axis: Axis, event: Event, y_px: float, shelf: Shelf, *, over: bool) -> str:
    stage = event.stage.value if event.stage else "?"
    x, side = axis.x(event.at_ns), -1 if over else 1
    parts = [line(x, y_px, x, y_px + 7 * side, stroke=INK, stroke_width="1")]
    start = shelf.place(x, stage, LABEL_PX)
    if start is not None:
        parts.append(text(start, y_px + (-9 if over else 16), stage, LABEL_PX, fill="#5b6672"))
    attempt = f", attempt {event.attempt}" if event.attempt is not None else ""
    return group(parts, f"{event.actor}: {event.about} enters {stage}{attempt}")


def _guard(axis: Axis, event: Event, y_px: float, shelves: tuple[Shelf, Shelf]) -> str:
    name, x = str(event.detail.get("guard", "a guard")), axis.x(event.at_ns)
    points = [(x, y_px - 6), (x + 6, y_px), (x, y_px + 6), (x - 6, y_px), (x, y_px - 6)]
    parts = [path(points, fill=GUARD, stroke="#ffffff", stroke_width="1")]
    for shelf, shift in zip(shelves, (-9, 16), strict=True):
        start = shelf.place(x, name, LABEL_PX)
        if start is not None:
            parts.append(text(start, y_px + shift, name, LABEL_PX, fill=GUARD, font_weight="600"))
            break
    return group(parts, f"{event.actor}: guard {name}: {_detail(event)}")


def _detail(event: Event) -> str:
    return ", ".join(f"{name} {value}" for name, value in event.detail.items() if name != "guard")
