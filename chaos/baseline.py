"""Owns what a resource must return to, and how far from it still counts as returned.

The baseline of a resource is the higher of two idle readings: the run's own start, and the end of
the fault-free control, which was loaded just as much. So what a healthy stack keeps after load
(a router's pooled connections, a grown thread pool) is no leak.

Tolerance, by the metric's name:
- sockets, connections, descriptors, threads: pools grow to the concurrency and shrink when they
  like, so that where they stand at one idle moment is chance. Two, and two per concurrent request,
  are tolerated on top of the baseline; without a control there is nothing to compare with, and it
  is four per concurrent request;
- resident memory: a quarter more, since allocators keep what they got;
- all else (KV pages, slots, rooms, in-flight counters, shared memory): nothing. One page is a leak.
A metric whose name says `free` or `available` leaks downwards.

No tolerance tells a pool from a leak. Where a pooled resource stands above its baseline by one for
every second request, or by more than is tolerated, that is a question (see chaos.rounds).

A gauge of which its probe says that it is zero when nothing runs has no baseline: it is zero,
exactly, also where the control's is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from chaos.event import Event, Kind, number
from chaos.history import History

POOLED = ("socket", "connection", "established", "descriptor", "fds", "thread")
MEMORY = ("resident", "rss", "memory_bytes")  # ... and what an allocator keeps
POOL_SLACK = 2.0
PER_REQUEST = 0.5  # of a pooled resource: one for every second request is no matter of chance
POOL_PER_REQUEST = 2.0  # the router keeps a connection to each leg
POOL_PER_REQUEST_ALONE = 4.0  # client to router, router to both legs, one between the workers
MEMORY_SLACK = 0.25


@dataclass(frozen=True, slots=True)
class Baseline:
    steady: Mapping[str, float]
    control: Mapping[str, float] | None
    concurrency: int
    idle: frozenset[str] = frozenset()  # zero when nothing runs, whatever they were before

    @property
    def names(self) -> tuple[str, ...]:
        """A router counts a worker's requests only from its first one on: what a new stack did
        not tell at the start is known from the control."""
        return tuple(sorted({*self.steady, *(self.control or ()), *self.idle}))

    def is_back(self, now: Mapping[str, float]) -> bool:
        """All that is exact. Whether a pool is one is another question: see `kept`."""
        exact = [name for name in self.names if not self.is_pooled(name)]
        return not self.missing(now) and not any(self.excess(one, now[one]) > 0 for one in exact)

    def is_pooled(self, name: str) -> bool:
        return is_pooled(name) and name not in self.idle

    def kept(self, now: Mapping[str, float], requests: int) -> tuple[str, ...]:
        """Pooled resources that stand so high after these requests that they may leak."""
        pooled = [name for name in self.names if name in now and self.is_pooled(name)]
        return tuple(
            name
            for name in pooled
            if self.excess(name, now[name]) > 0
            or (is_counted(name) and self.above(name, now[name]) >= PER_REQUEST * requests)
        )

    def per_request(self, name: str, value: float, requests: int) -> float:
        """What a leak of it would add for each request, at least."""
        if is_counted(name):
            return PER_REQUEST
        return PER_REQUEST * self.above(name, value) / max(1, requests)

    def missing(self, now: Mapping[str, float]) -> tuple[str, ...]:
        """What was read at the start, or in the control, and is not read any more."""
        return tuple(name for name in self.names if name not in now)

    def is_half(self, name: str) -> bool:
        """The control ran, and did not tell what it kept of this: more than at the start may be
        what it kept, too."""
        return self.control is not None and name not in self.control and name not in self.idle

    def excess(self, name: str, value: float) -> float:
        """How much more than tolerated is still held; at most 0 when it was given back."""
        return self.above(name, value) - self._tolerance(name)

    def above(self, name: str, value: float) -> float:
        """How much more than before is still held, tolerated or not."""
        if name in self.idle:
            return abs(value)
        sign = -1.0 if grows_when_freed(name) else 1.0
        return sign * value - self._peak(name)

    def _peak(self, name: str) -> float:
        sign = -1.0 if grows_when_freed(name) else 1.0
        sides = (self.steady, self.control or {})
        return max(sign * side[name] for side in sides if name in side)

    def _tolerance(self, name: str) -> float:
        if name in self.idle:
            return 0.0
        if is_counted(name):
            alone = self.control is None
            per_request = POOL_PER_REQUEST_ALONE if alone else POOL_PER_REQUEST
            return POOL_SLACK + per_request * self.concurrency
        return MEMORY_SLACK * abs(self._peak(name)) if is_pooled(name) else 0.0


def is_counted(name: str) -> bool:
    """Whether it is kept in a pool, piece by piece."""
    return any(word in _metric(name) for word in POOLED)


def is_pooled(name: str) -> bool:
    """Whether a healthy stack keeps of it what it once needed."""
    return is_counted(name) or any(word in _metric(name) for word in MEMORY)


def grows_when_freed(name: str) -> bool:
    return any(word in _metric(name) for word in ("free", "available"))


def _metric(name: str) -> str:
    return name.rpartition("/")[2].lower()


def steady(history: History) -> dict[str, float]:
    """Each resource as it was before the load; the last reading of that phase counts."""
    return _readings(history, history.start_ns, history.phase_ns("disturb"))


def rest(history: History) -> dict[str, float]:
    """Each resource as it was after recovery; the last reading counts."""
    return _readings(history, history.phase_ns("recover"), history.end_ns + 1)


def control_rest(control: History | None) -> dict[str, float] | None:
    return None if control is None else rest(control)


def idle(history: History) -> frozenset[str]:
    """Gauges that are zero when nothing runs, as their probes say."""
    readings = (one for one in history.resources if one.kind is Kind.READING)
    return frozenset(one.about for one in readings if one.detail.get("idle") is True)


def unread(history: History) -> tuple[str, ...]:
    """Probes that could be read after recovery, but neither before the load nor after the
    control's: what they tell has no baseline. One that never answered tells nothing at all."""
    before = _answers(history, history.start_ns, history.phase_ns("disturb"))
    after = _answers(history, history.phase_ns("recover"), history.end_ns + 1)
    control = history.control
    known = _answers(control, control.phase_ns("recover"), control.end_ns + 1) if control else {}
    return tuple(
        sorted(
            one
            for one, answered in before.items()
            if after.get(one) and not (answered or known.get(one))
        )
    )


def _answers(history: History, begin_ns: int | None, end_ns: int | None) -> dict[str, bool]:
    """Whether each resource's probe answered when it was last read in that time."""
    return {
        str(one.detail.get("probe", one.about)): one.kind is Kind.READING
        for one in _told(history, begin_ns, end_ns)
    }


def _told(history: History, begin_ns: int | None, end_ns: int | None) -> list[Event]:
    """What was read of resources in that time, or could not be, in its order."""
    return [one for one in history.resources if _within(one, begin_ns, end_ns)]


def _within(event: Event, begin_ns: int | None, end_ns: int | None) -> bool:
    return begin_ns is not None and end_ns is not None and begin_ns <= event.at_ns < end_ns


def _readings(history: History, begin_ns: int | None, end_ns: int | None) -> dict[str, float]:
    """The last word on each resource. A probe that could not be read unsays what it said before."""
    values: dict[str, float] = {}
    told_by: dict[str, str] = {}
    for event in _told(history, begin_ns, end_ns):
        _say(values, told_by, event)
    return values


def _say(values: dict[str, float], told_by: dict[str, str], event: Event) -> None:
    """A reading that does not name its probe is of its node's one and only."""
    node = event.about.partition("/")[0]
    if event.kind is Kind.READING and isfinite(number(event, "value")):
        values[event.about] = number(event, "value")
        told_by[event.about] = str(event.detail.get("probe", node))
        return
    for name in [one for one, probe in told_by.items() if probe in (event.about, node)]:
        values.pop(name, None)
    values.pop(event.about, None)  # a value that is no number
