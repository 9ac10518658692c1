"""A finished history as one picture: requests, stages, faults, guards, alerts, over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from chaos.event import Event
from chaos.history import History
from chaos.reports.axis import Axis, phase_marks
from chaos.reports.legend import legend
from chaos.reports.lives import Life, Window, guards_on_nodes, lives, windows
from chaos.reports.palette import BAD, FAINT, FAULT, INK, NEUTRAL, VERDICTS
from chaos.reports.request_lane import ROW_PX, node_guard_lane, request_lane
from chaos.reports.shelf import Shelf
from chaos.reports.signal_lane import SIGNAL_PX, Signal, signal_lane, signals
from chaos.reports.svg import CHARACTER_EM, box, page, shortened, text, width_px
from chaos.verdict import BROKEN, Verdict, accepted

WIDTH_PX = 1180.0
LEFT_PX = 190.0
RIGHT_PX = WIDTH_PX - 40.0
HEAD_PX = 100.0
STRIKE_PX = 24.0
FOOT_PX = 78.0
REQUESTS_MAX = 40  # more rows than this are no picture; the affected ones come first


def timeline_svg(history: History, verdicts: Sequence[Verdict] = ()) -> str:
    """An SVG text that stands on its own; `verdicts` give the title and the alerts."""
    axis = Axis.of(history, LEFT_PX, RIGHT_PX)
    shown, left_out = _chosen(lives(history), verdicts)
    struck, seen = windows(history), signals(history, verdicts)
    top = HEAD_PX + STRIKE_PX * len(struck) + (6 if struck else 0)
    on_nodes = guards_on_nodes(history, lives(history))
    signals_top = top + ROW_PX * (len(shown) + bool(on_nodes))
    bottom = signals_top + SIGNAL_PX * len(seen) + 10
    parts = _shades(axis, struck, bottom) + axis.drawn(top - 4, bottom)
    parts += _strike_bars(axis, struck)
    parts += _rows(axis, shown, on_nodes, top)
    parts += _signal_rows(axis, seen, signals_top)
    parts += phase_marks(axis, history, bottom + 32)
    parts += legend(LEFT_PX, bottom + 58, left_out)
    return page(
        WIDTH_PX, bottom + FOOT_PX, _head(history, verdicts) + parts, _title(history, verdicts)
    )


def _chosen(all_lives: Sequence[Life], verdicts: Sequence[Verdict]) -> tuple[list[Life], int]:
    """The lives that fit, affected and unsettled ones first; and how many were left out."""
    affected = {request for verdict in verdicts for request in verdict.about}
    ranked = sorted(
        all_lives, key=lambda life: (life.request_id not in affected, life.ended is not None)
    )
    chosen = {life.request_id for life in ranked[:REQUESTS_MAX]}
    shown = [life for life in all_lives if life.request_id in chosen]
    return shown, len(all_lives) - len(shown)


def _worst(verdicts: Sequence[Verdict]) -> Verdict | None:
    order = list(VERDICTS)
    return max(
        verdicts,
        key=lambda one: (one.outcome not in BROKEN, order.index(one.outcome)),
        default=None,
    )


def _title(history: History, verdicts: Sequence[Verdict]) -> str:
    worst = _worst(verdicts)
    if worst is None:
        return "not judged"
    return str(worst) if _allowed(history, worst) else f"{worst}, not allowed"


def _allowed(history: History, verdict: Verdict) -> bool:
    return verdict.outcome in BROKEN or accepted(verdict, history.specification.allowed)


def _head(history: History, verdicts: Sequence[Verdict]) -> list[str]:
    spec = history.specification
    worst = _worst(verdicts)
    words = _title(history, verdicts)
    badge = width_px(words, 13) + 20
    name = shortened(spec.name, WIDTH_PX - badge - 70, 16)
    about = f"{spec.stack} · {spec.workload} · {spec.concurrency} at once · seed {spec.seed}"
    reason = _lines(worst.reason if worst else "", WIDTH_PX - 48, 12)
    return [
        box(24, 16, badge, 24, rx="5", fill=_colour(history, worst)),
        text(34, 33, words, 13, fill="#ffffff", font_weight="600"),
        text(24 + badge + 14, 34, name, 16, fill=INK, font_weight="600"),
        *(text(24, 58 + 16 * index, one, 12, fill=INK) for index, one in enumerate(reason)),
        text(24, 91, shortened(about, WIDTH_PX - 64, 10.5), 10.5, fill=FAINT),
    ]


def _colour(history: History, worst: Verdict | None) -> str:
    if worst is None:
        return NEUTRAL
    return VERDICTS[worst.outcome] if _allowed(history, worst) else BAD


def _lines(words: str, room_px: float, size_px: float) -> list[str]:
    """At most two lines; the second one is cut where there would be a third."""
    characters = int(room_px / (size_px * CHARACTER_EM))
    first, *rest = wrap(words, characters) or [""]
    return [first, shortened(" ".join(rest), room_px, size_px)] if rest else [first]


def _shades(axis: Axis, struck: Sequence[Window], bottom: float) -> list[str]:
    shades: list[str] = []
    for window in struck:
        left, right = _ends(axis, window)
        shade = box(left, HEAD_PX, right - left, bottom - HEAD_PX, fill=FAULT, fill_opacity="0.13")
        shades.append(shade)
    return shades


def _ends(axis: Axis, window: Window) -> tuple[float, float]:
    healed_ns = window.healed.at_ns if window.healed else axis.to_ns
    return axis.x(window.struck.at_ns), axis.x(healed_ns)


def _strike_bars(axis: Axis, struck: Sequence[Window]) -> list[str]:
    parts: list[str] = []
    for index, window in enumerate(struck):
        y = HEAD_PX + STRIKE_PX * index + 6
        left, right = _ends(axis, window)
        words = window.strike if window.bit else f"{window.strike} (did not bite)"
        words += "" if window.healed else " (never healed)"
        words = shortened(words, RIGHT_PX - LEFT_PX, 10.5)
        parts.append(box(left, y, right - left, 15, rx="3", fill=FAULT))
        parts.append(text(LEFT_PX - 12, y + 11, "fault", 10, fill=FAINT, text_anchor="end"))
        start = Shelf(LEFT_PX, RIGHT_PX + 40).place(left + 6, words, 10.5)
        parts.append(text(LEFT_PX if start is None else start, y + 11.5, words, 10.5, fill=INK))
    return parts


def _rows(axis: Axis, shown: Sequence[Life], on_nodes: Sequence[Event], top: float) -> list[str]:
    parts: list[str] = []
    for index, life in enumerate(shown):
        parts += request_lane(axis, life, top + ROW_PX * index + ROW_PX / 2)
    return parts + node_guard_lane(axis, on_nodes, top + ROW_PX * len(shown) + ROW_PX / 2)


def _signal_rows(axis: Axis, seen: Sequence[Signal], top: float) -> list[str]:
    parts: list[str] = []
    for index, signal in enumerate(seen):
        parts += signal_lane(axis, signal, top + SIGNAL_PX * index)
    return parts
