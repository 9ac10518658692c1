"""The smallest history that still shows a difference: requests, strikes, alerts, events dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from chaos.event import Event, Kind
from chaos.history import History

OPTIONAL = frozenset({
    Kind.STAGE, Kind.GUARD, Kind.LAG, Kind.LOST, Kind.TOOL_ERROR, Kind.SKIPPED, Kind.UNREADABLE
})  # fmt: skip


def shrunk(history: History, still: Callable[[History], bool]) -> History:
    """Drop one part after the other for as long as what remains still shows it."""
    smaller: History | None = history
    while smaller is not None:
        history = smaller
        smaller = next((each for each in _smaller(history) if still(each)), None)
    return history


def _smaller(history: History) -> Iterator[History]:
    for strike in history.specification.strikes:
        left = tuple(s for s in history.specification.strikes if s is not strike)
        planned = replace(history.specification, strikes=left)
        yield _without(
            replace(history, specification=planned), lambda e, s=strike: e.about == s.strike
        )
    for name in dict.fromkeys(e.about.partition("+")[0] for e in history if e.kind is Kind.SENT):
        if not name.startswith("recover/"):
            yield _without(history, lambda e, n=name: e.about.partition("+")[0] == n)
    for alert in history.specification.alerts:
        left = tuple(a for a in history.specification.alerts if a is not alert)
        yield replace(history, specification=replace(history.specification, alerts=left))
    for name in dict.fromkeys(e.about for e in history if e.actor == "signal"):
        yield _without(history, lambda e, n=name: e.about == n)
    for seq in [e.seq for e in history if e.kind in OPTIONAL or e.actor == "signal"]:
        yield replace(history, events=tuple(e for e in history if e.seq != seq))


def _without(history: History, gone: Callable[[Event], bool]) -> History:
    control = history.control
    if control is not None:
        control = replace(control, events=tuple(e for e in control if not gone(e)))
    return replace(history, events=tuple(e for e in history if not gone(e)), control=control)
