"""One row of the timeline for one reading that an alert watches: its curve, and when it told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from chaos.event import Event, Kind
from chaos.history import History
from chaos.reports.axis import Axis
from chaos.reports.palette import ALERT, FAINT, INK
from chaos.reports.shelf import Shelf
from chaos.reports.svg import group, path, shortened, text
from chaos.verdict import Outcome, Verdict

SIGNAL_PX = 34.0
SIGNALS_MAX = 6
CURVE_PX = 18.0


@dataclass(frozen=True, slots=True)
class Signal:
    """Readings of one name; `alerts` maps each alert they proved to the last one of its proof."""

    reading: str
    samples: tuple[Event, ...]
    alerts: Mapping[str, Event]


def signals(history: History, verdicts: Sequence[Verdict]) -> list[Signal]:
    """The watched readings: those that proved an alert first, then those that moved.

    An alert that watches for silence names whole nodes; its readings are shown when it fired.
    """
    told = _told(history, verdicts)
    by_name: dict[str, list[Event]] = defaultdict(list)
    alerts = history.specification.alerts
    globs = {alert.reading for alert in alerts if alert.op != "unreadable"} | set(told)
    for event in history:
        if event.kind in (Kind.READING, Kind.UNREADABLE) and _watched(event.about, globs):
            by_name[event.about].append(event)
    found = [Signal(name, tuple(e), told[name]) for name, e in by_name.items()]
    interesting = [one for one in found if one.alerts or len(set(_values(one.samples))) > 1]
    return sorted(interesting, key=lambda one: (not one.alerts, one.reading))[:SIGNALS_MAX]


def signal_lane(axis: Axis, signal: Signal, top_px: float) -> list[str]:
    """A stepped curve from zero to its highest value; a triangle where an alert was proven."""
    values = _values(signal.samples)
    high = max([*values, 0.0]) or 1.0
    floor = top_px + CURVE_PX + 6
    points: list[tuple[float, float]] = []
    for event, value in zip(signal.samples, values, strict=True):
        x, y = axis.x(event.at_ns), floor - CURVE_PX * max(value, 0.0) / high
        points += [(x, points[-1][1]), (x, y)] if points else [(x, y)]
    node, _, metric = signal.reading.partition("/")
    colour = ALERT if signal.alerts else FAINT
    name = shortened(metric.removeprefix("sglang:") or node, 165, 9.5)
    return [
        text(axis.left_px - 12, floor - 9, node, 9.5, fill=FAINT, text_anchor="end"),
        text(axis.left_px - 12, floor + 2, name, 9.5, fill=INK, text_anchor="end"),
        group([path(points, fill="none", stroke=colour, stroke_width="1.4")], signal.reading),
        text(axis.right_px + 4, floor - CURVE_PX + 8, f"{high:g}", 9, fill=FAINT),
        *_alert_marks(axis, signal, floor),
    ]


def _alert_marks(axis: Axis, signal: Signal, floor_px: float) -> list[str]:
    shelf = Shelf(axis.left_px, axis.right_px)
    parts: list[str] = []
    for alert, event in signal.alerts.items():
        x, y = axis.x(event.at_ns), floor_px - 3
        parts.append(path([(x, y - 9), (x + 5, y), (x - 5, y), (x, y - 9)], fill=ALERT))
        start = shelf.place(x + 8, alert, 9.5)
        if start is not None:
            start = start if start > x else start - 16
            parts.append(text(start, y - 1, alert, 9.5, fill=ALERT, font_weight="600"))
    return [group(parts, f"alert: {', '.join(signal.alerts)}")] if parts else []


def _told(history: History, verdicts: Sequence[Verdict]) -> dict[str, dict[str, Event]]:
    """For each reading, the alerts that it proved, each with the last event of the proof."""
    told: dict[str, dict[str, Event]] = defaultdict(dict)
    alerts = {one.by: set(one.evidence) for one in verdicts if one.outcome is Outcome.SURFACED}
    for event in history:
        for alert, evidence in alerts.items():
            if alert and event.seq in evidence:
                told[event.about][alert] = event
    return told


def _watched(name: str, globs: set[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _values(samples: Sequence[Event]) -> list[float]:
    """The numbers; a probe that got no answer keeps the value before it."""
    values: list[float] = []
    for event in samples:
        value = event.detail.get("value")
        known = isinstance(value, int | float)
        values.append(float(value) if known else (values[-1] if values else 0.0))
    return values
