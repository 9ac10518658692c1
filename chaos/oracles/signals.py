"""Which of the alerts that were declared before the run fired, and when?"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from chaos.clock import ns
from chaos.event import Event, Kind, number
from chaos.history import History
from chaos.oracles.symptom import holds, unknown
from chaos.specification import Alert
from chaos.verdict import Finding

READING = Kind.READING  # looked up once: it is asked of each sample of each alert
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert's condition had held for its whole `for_s`, at this moment."""

    alert: str
    about: str
    at_ns: int
    evidence: tuple[int, ...]
    until_ns: int | None = None  # when the condition ended; None: it held to the last


@dataclass(frozen=True, slots=True)
class AlertsAreEvaluated:
    """Tells which alerts fired. It never accuses: what a firing means depends on the strike.

    An alert is a predicate written down before the run; looking afterwards for a metric that
    moved would find one always. One that fires in the fault-free control cries every day, and an
    operator who gets it learns nothing.
    """

    name: str = "signals"

    def judge(self, history: History) -> Finding:
        alerts = history.specification.alerts
        if not alerts:
            return unknown(self.name, "no alert was declared")
        if blind := unwatched(history):
            return unknown(self.name, f"nothing to evaluate: {', '.join(blind)}", blind)
        names = dict.fromkeys(one.alert for one in firings(history))
        return holds(self.name, f"fired: {', '.join(names) or 'none'}, of {len(alerts)}")


def firings(history: History) -> tuple[Firing, ...]:
    """Every firing of every alert, in the order of time, before recovery begins."""
    return _firings(history, history.specification.alerts)


def _firings(history: History, alerts: Sequence[Alert]) -> tuple[Firing, ...]:
    samples = _samples(history)
    found = [
        one
        for alert in alerts
        for about, events in samples.items()
        if fnmatchcase(about, alert.reading)
        for one in _runs(alert, about, events)
    ]
    return tuple(sorted(found, key=lambda one: (one.at_ns, one.alert)))


def crying(history: History) -> frozenset[str]:
    """The alerts that fire without a fault: they count for nothing."""
    if history.control is None:
        return frozenset()
    # The control may have been run for another list of alerts.
    told = _firings(history.control, history.specification.alerts)
    return frozenset(one.alert for one in told)


def unwatched(history: History) -> tuple[str, ...]:
    """Alerts for which there was nothing to look at: no reading, and no failure to read."""
    samples = _samples(history)
    return tuple(
        alert.name
        for alert in history.specification.alerts
        if not any(fnmatchcase(about, alert.reading) for about in samples)
    )


def _samples(history: History) -> dict[str, list[Event]]:
    """What could be seen of each subject, in the order of time; a failed probe is seen, too."""
    end_ns = history.phase_ns("recover")
    samples: dict[str, list[Event]] = {}
    for event in history.signals:
        if end_ns is not None and event.at_ns >= end_ns:
            break
        samples.setdefault(event.about, []).append(event)
        probe = event.detail.get("probe")
        if isinstance(probe, str) and probe != event.about:
            # An answer of the probe ends the time in which it could not be read.
            samples.setdefault(probe, []).append(event)
    return samples


def _runs(alert: Alert, about: str, events: Iterable[Event]) -> Iterable[Firing]:
    """Each unbroken run of samples that satisfy the alert fires once, when it is long enough."""
    first: Event | None = None
    fired: Firing | None = None
    satisfies, for_ns = _condition(alert), ns(alert.for_s)
    for event in events:
        if event.about != about and alert.op != "unreadable":
            continue  # another reading of the probe of this name
        if not satisfies(event, first):
            if fired is not None:
                yield replace(fired, until_ns=event.at_ns)
            # A pinned gauge that moves to another value begins to be pinned there.
            first = event if first is not None and satisfies(event, None) else None
            fired = None
            continue
        first = first or event
        if fired is None and event.at_ns - first.at_ns >= for_ns:
            fired = Firing(alert.name, about, event.at_ns, (first.seq, event.seq))
    if fired is not None:
        yield fired


def _condition(alert: Alert) -> Callable[[Event, Event | None], bool]:
    """Whether a sample satisfies the alert, given the first of its run."""
    if alert.op == "unreadable":
        return lambda event, _: event.kind is Kind.UNREADABLE
    if alert.op == "pinned":
        return _is_pinned
    compare, threshold = COMPARISONS[alert.op], alert.threshold
    return lambda event, _: event.kind is READING and compare(number(event, "value"), threshold)


def _is_pinned(event: Event, first: Event | None) -> bool:
    if event.kind is not READING:
        return False
    value = number(event, "value")
    return value != 0 and (first is None or value == number(first, "value"))
