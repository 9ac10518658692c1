"""The smallest history that still shows a difference: requests, strikes, alerts, events dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from chaos.event import Event, Kind
from chaos.history import History
from chaos.specification import Alert

OPTIONAL = frozenset({
    Kind.STAGE, Kind.GUARD, Kind.LAG, Kind.LOST, Kind.TOOL_ERROR, Kind.SKIPPED, Kind.UNREADABLE
})  # fmt: skip


Cut = Callable[[History], History]


def shrunk(history: History, still: Callable[[History], bool]) -> History:
    """Drop one part after the other, until no part can go without the difference."""
    while True:
        before = history
        for cut in _cuts(history):
            smaller = cut(history)
            if still(smaller):
                history = smaller
        if len(history.events) == len(before.events) and (
            history.specification == before.specification
        ):
            return history


def _cuts(history: History) -> Iterator[Cut]:
    for strike in history.specification.strikes:
        yield partial(_without_strike, name=strike.strike)
    for name in dict.fromkeys(e.about.partition("+")[0] for e in history if e.kind is Kind.SENT):
        if not name.startswith("recover/"):
            yield partial(_without, gone=lambda e, n=name: e.about.partition("+")[0] == n)
    for alert in history.specification.alerts:
        yield partial(_without_alert, alert=alert)
    for name in dict.fromkeys(e.about for e in history if e.actor == "signal"):
        yield partial(_without, gone=lambda e, n=name: e.about == n)
    for seq in [e.seq for e in history if e.kind in OPTIONAL or e.actor == "signal"]:
        yield partial(_without_event, seq=seq)


def _without_strike(history: History, name: str) -> History:
    left = tuple(one for one in history.specification.strikes if one.strike != name)
    planned = replace(history.specification, strikes=left)
    return _without(replace(history, specification=planned), lambda e: e.about == name)


def _without_alert(history: History, alert: Alert) -> History:
    left = tuple(one for one in history.specification.alerts if one is not alert)
    return replace(history, specification=replace(history.specification, alerts=left))


def _without_event(history: History, seq: int) -> History:
    return replace(history, events=tuple(e for e in history if e.seq != seq))


def _without(history: History, gone: Callable[[Event], bool]) -> History:
    control = history.control
    if control is not None:
        control = replace(control, events=tuple(e for e in control if not gone(e)))
    return replace(history, events=tuple(e for e in history if not gone(e)), control=control)
