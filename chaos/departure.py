"""Owns a client's departure: until when each node kept a request whose client had left.

A request whose client has gone is worth nothing, and keeps a slot and its pages from all others.
A worker that tells when it has cleaned up after a request is asked for that mark. Of any other, a
gauge of what runs shows that something still does, once nobody else is being served.

A frozen process cannot let go: its clock begins when it is thawed. One that was killed has let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaos.actor import SIGNAL
from chaos.blow import Blow, blows
from chaos.ending import Ending, ending
from chaos.event import Event, Json, Kind, number
from chaos.history import History
from chaos.life import Life
from chaos.stage import FaultKind, Stage


@dataclass(frozen=True, slots=True)
class Departure:
    """A request that a node still held when its client left, and let go later."""

    life: Life
    node: str
    since_ns: int  # when its client left, or when the node could first let go
    event: Event  # what shows until when it was kept: its cleanup, or the last gauge that was up

    @property
    def kept_ns(self) -> int:
        return self.event.at_ns - self.since_ns


def departures(history: History) -> tuple[Departure, ...]:
    left = [
        one
        for one in history.lives.values()
        if one.settled and one.settled.kind is Kind.CANCELLED and not one.is_recovery
    ]
    if not left:
        return ()
    return (*_by_marks(history, left), *_by_gauges(history, left))


def telling(history: History) -> frozenset[str]:
    """Nodes that mark their cleaning up after each request, also after those that went well."""
    return frozenset(
        event.actor
        for life in history.lives.values()
        if life.settled is not None and ending(life.settled) is Ending.COMPLETE
        for event in life.stages
        if event.stage is Stage.CLEANUP
    )


def _known(history: History) -> frozenset[str]:
    known = telling(history)
    return known | telling(history.control) if history.control else known


def _by_marks(history: History, left: Iterable[Life]) -> Iterator[Departure]:
    known, of = _known(history), blows(history)
    for life in left:
        held: dict[tuple[str, int | None], Event] = {}
        for event in life.stages:
            where = event.actor, event.attempt
            if event.actor not in known:
                continue
            if event.stage is not Stage.CLEANUP:
                held.setdefault(where, event)
            elif begun := held.pop(where, None):
                since_ns = _since_ns(event.actor, max(_end_ns(life, history), begun.at_ns), of)
                if event.at_ns > since_ns:
                    yield Departure(life, event.actor, since_ns, event)


def _by_gauges(history: History, left: Sequence[Life]) -> Iterator[Departure]:
    """The last gauge of each node that was up when every client had gone."""
    known, of = _known(history), blows(history)
    load = [one for one in history.lives.values() if not one.is_recovery]
    gone_ns = max(_end_ns(one, history) for one in load)
    recover_ns = history.phase_ns("recover") or history.end_ns
    last: dict[str, Event] = {}
    for event in history.of(Kind.READING):
        if gone_ns <= event.at_ns < recover_ns and _is_up(event):
            last[event.about.partition("/")[0]] = event
    longest = min(left, key=lambda one: _end_ns(one, history))
    for node, event in last.items():
        since_ns = _since_ns(node, _end_ns(longest, history), of)
        if node not in known and event.at_ns > since_ns:
            yield Departure(longest, node, since_ns, event)


def _is_up(event: Event) -> bool:
    """A gauge of what runs, as an operator sees it, and something does."""
    return is_idle_gauge(event.actor, event.detail) and number(event, "value") > 0


def is_idle_gauge(actor: str, detail: Mapping[str, Json]) -> bool:
    return actor == SIGNAL and detail.get("idle") is True


def _since_ns(node: str, left_ns: int, of: Iterable[Blow]) -> int:
    thawed = [
        one.end_ns
        for one in of
        if one.struck is not None
        and one.spec.kind is FaultKind.FROZEN
        and "link" not in one.struck.detail  # of a link that stalls, both ends are alive
        and one.touches(node)
        and one.began_ns is not None
        and one.began_ns <= left_ns <= one.end_ns
    ]
    return max((left_ns, *thawed))


def _end_ns(life: Life, history: History) -> int:
    return life.settled.at_ns if life.settled else history.end_ns
