"""The table that people read, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from ci.benches.interval import middle
from ci.benches.measuring import Measured
from ci.benches.promise import Answer, Figure, Promise, answer

HEAD = f"{'row':<15} {'what':<58} {'budget':<20} {'measured':<50} answer"


def lines(measured: Measured) -> Iterator[str]:
    """A row's lines; what must be known beside a figure stands below it."""
    name = measured.row
    for promise, figure in measured.lines:
        budget = str(promise.budget) if promise.budget else "-"
        told = answer(promise, figure).value
        yield f"{name:<15} {promise.what:<58} {budget:<20} {shown(promise, figure):<50} {told}"
        if figure.note:
            yield f"{'':<15}   ({figure.note})"
        name = ""
    yield f"{'':<15}   [{measured.load}]"


def shown(promise: Promise, figure: Figure) -> str:
    """A comparison shows its interval, an absolute figure its extremes."""
    if not figure.values:
        return "-"
    unit = promise.budget.unit if promise.budget else promise.unit
    values, interval = figure.values, figure.interval
    text = f"{number(middle(values))} {unit}".rstrip()
    if len(values) == 1:
        return f"{text}, n 1"
    if promise.paired:
        if interval is None:
            return f"{text}, n {len(values)}: too few for an interval"
        return f"{text} [{number(interval.low)}, {number(interval.high)}], n {len(values)}"
    return f"{text} ({number(min(values))} .. {number(max(values))}), n {len(values)}"


def number(value: float) -> str:
    """Three digits are as many as any of this is good for, and whole numbers stay whole."""
    if value == round(value) or abs(value) >= 1000:  # noqa: PLR2004 - four digits need no fraction
        return f"{value:,.0f}"
    return f"{value:.3g}"


def json_of(measured: Sequence[Measured], machine: str) -> dict[str, object]:
    return {
        "machine": machine,
        "rows": [
            {
                "row": one.row,
                "what": promise.what,
                "budget": str(promise.budget) if promise.budget else None,
                "answer": answer(promise, figure).value,
                "values": list(figure.values),
                "median": middle(figure.values) if figure.values else None,
                "interval_95": asdict(figure.interval) if figure.interval else None,
                "note": figure.note,
                "load_average": asdict(one.load),
            }
            for one in measured
            for promise, figure in one.lines
        ],
    }


def is_good(measured: Sequence[Measured]) -> bool:
    """Nothing was missed, and nothing failed to be measured that was to be."""
    bad = (Answer.MISSES, Answer.NOT_MEASURED)
    return not any(answer(*line) in bad for one in measured for line in one.lines)
