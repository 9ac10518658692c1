"""When an alert was on, and for whom."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.actor import SIGNAL
from chaos.clock import ns
from chaos.event import Event, Kind
from chaos.specification import Alert
from tests.chaos.second_opinion.window import NODE


@dataclass(frozen=True, slots=True)
class Firing:
    """From the sample that completed its duration to the first one that does not satisfy it."""

    alert: Alert
    reading: str
    at_ns: int
    over_ns: int | None = None

    @property
    def nodes(self) -> list[str]:
        """A label names a node more closely than the page on which it stands."""
        return NODE.findall(self.reading.partition("{")[2] or self.reading)


def firings(events: Sequence[Event], alert: Alert) -> list[Firing]:
    """Each reading has its own; the earliest first."""
    names = {e.about for e in events if _is_sample(e, alert)}
    found: list[Firing] = []
    for name in sorted(names):
        own = [e for e in events if _is_sample(e, alert) and name in (e.about, _probe(e, alert))]
        found += _of_one(alert, name, own)
    return sorted(found, key=lambda one: one.at_ns)


def has_samples(events: Sequence[Event], alert: Alert) -> bool:
    return any(_is_sample(e, alert) and e.kind is Kind.READING for e in events)


def _is_sample(event: Event, alert: Alert) -> bool:
    if event.actor != SIGNAL or event.kind not in (Kind.READING, Kind.UNREADABLE):
        return False
    return fnmatch.fnmatchcase(event.about, alert.reading)


def _probe(event: Event, alert: Alert) -> object:
    """A probe that answers again is not unreadable any more, whatever it reads."""
    return event.detail.get("probe") if alert.op == "unreadable" else None


def _of_one(alert: Alert, name: str, samples: Sequence[Event]) -> list[Firing]:
    found: list[Firing] = []
    since: Event | None = None
    fired_ns: int | None = None
    for sample in samples:
        goes_on = _satisfies(alert, sample) and (since is None or _same(alert, since, sample))
        if not goes_on:
            if fired_ns is not None:
                found.append(Firing(alert, name, fired_ns, sample.at_ns))
            since, fired_ns = (sample if _satisfies(alert, sample) else None), None
        since = sample if goes_on and since is None else since
        if since is not None and fired_ns is None and sample.at_ns - since.at_ns >= ns(alert.for_s):
            fired_ns = sample.at_ns
    if fired_ns is not None:
        found.append(Firing(alert, name, fired_ns))
    return found


def _same(alert: Alert, since: Event, sample: Event) -> bool:
    return alert.op != "pinned" or since.detail.get("value") == sample.detail.get("value")


def _satisfies(alert: Alert, sample: Event) -> bool:
    if alert.op == "unreadable" or sample.kind is Kind.UNREADABLE:
        return alert.op == "unreadable" and sample.kind is Kind.UNREADABLE
    value = sample.detail.get("value")
    if not isinstance(value, int | float):
        return False
    return {
        "<": value < alert.threshold,
        "<=": value <= alert.threshold,
        "==": value == alert.threshold,
        ">=": value >= alert.threshold,
        ">": value > alert.threshold,
        "pinned": value != 0,
    }[alert.op]
