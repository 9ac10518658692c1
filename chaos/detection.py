"""Owns whether an alert told an operator of the requests that ended too late, or never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from chaos.blow import Blow
from chaos.clock import ns, seconds
from chaos.event import Kind
from chaos.fate import Fate
from chaos.history import History
from chaos.oracles import signals
from chaos.oracles.signals import Firing
from chaos.route import Route, is_worker, role_of, route, workers_of
from chaos.target import Target, targets


@dataclass(frozen=True, slots=True)
class Detection:
    firing: Firing
    after_s: float  # since the request that it told of began to wait


@dataclass(frozen=True, slots=True)
class Detected:
    """What an operator knew of some requests: of all of them in time, or not."""

    first: Detection | None  # in time, if all was told in time; else one that came too late
    untold: tuple[Fate, ...]


class Detections:
    """The alerts of one history that count: those that are quiet in its control."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._detect_ns = ns(history.specification.budgets.detect_s)
        self._whole = {one.name for one in history.specification.alerts if one.whole_stack}

    def of(self, late: Sequence[Fate]) -> Detected:
        """An alert tells of a request if it is about a node that this may have hung on, and fired
        while it waited, at most `detect_s` after it began to. One that fired before, under the same
        strikes, counts while it holds. Each request is asked for by itself: what was over before
        one was sent tells nobody of it, whatever it told of others."""
        in_order = sorted(late, key=lambda one: one.since_ns)
        told = [(one, fate) for fate in in_order for one in self._telling(fate)]
        known = dict(reversed(told))
        spoken_for = {id(fate) for _, fate in told}
        untold = tuple(one for one in in_order if id(one) not in spoken_for)
        if untold or not known:
            return Detected(self._too_late(untold), untold)
        first = min(known, key=lambda one: (one.at_ns, one.alert))
        return Detected(_detection(first, known[first]), ())

    def _telling(self, fate: Fate) -> list[Firing]:
        """Those that told of this request in time."""
        by_ns = fate.since_ns + self._detect_ns
        return [one for one in self._seen(fate) if one.at_ns <= by_ns]

    def _seen(self, fate: Fate) -> list[Firing]:
        """Those that told of this request before it ended."""
        begun = [one.began_ns for one in fate.charge.strikes if one.began_ns is not None]
        from_ns = min(begun, default=self._history.start_ns)
        until_ns = self._history.end_ns if fate.ended_ns is None else fate.ended_ns
        return [
            one
            for one in self._firings
            if from_ns <= one.at_ns <= until_ns
            and (one.until_ns is None or one.until_ns >= fate.since_ns)
            and self._is_about(one, fate)
        ]

    def _too_late(self, untold: Sequence[Fate]) -> Detection | None:
        late = ((one, fate) for fate in untold for one in self._seen(fate))
        found = min(late, key=lambda pair: pair[0].at_ns, default=None)
        return None if found is None else _detection(*found)

    def _is_about(self, firing: Firing, fate: Fate) -> bool:
        if firing.alert in self._whole:
            return True
        named = self._nodes.get(firing.about)
        if named is None:
            named = self._nodes[firing.about] = _workers(firing.about)
        return not named or any(self._may_hang_on(one, fate) for one in named)

    def _may_hang_on(self, target: Target, fate: Fate) -> bool:
        """It wrote of the request; or nothing says that the request was elsewhere, and a strike
        that is charged with it may have hit this node. A node that stands still writes nothing."""
        way = route(fate.life)
        return all(
            one in way.used
            or self._is_alone(one)
            or (way.may_use(one) and _may_be_hurt(one, fate.charge.strikes, way))
            for one in target.ends
        )

    def _is_alone(self, node: str) -> bool:
        """No other worker has its role, so that every request has to do with it."""
        return not is_worker(node) or sum(role_of(one) == role_of(node) for one in self._known) == 1

    @cached_property
    def _firings(self) -> list[Firing]:
        crying = signals.crying(self._history)
        return [one for one in signals.firings(self._history) if one.alert not in crying]

    @cached_property
    def _known(self) -> frozenset[str]:
        """Every worker that anybody wrote of: it is itself the subject of what is read of it."""
        sides = [self._history, *([self._history.control] if self._history.control else [])]
        read = {
            one.about.partition("/")[0]
            for side in sides
            for kind in (Kind.READING, Kind.UNREADABLE)
            for one in side.of(kind)
        }
        wrote = (workers_of(side.of(Kind.STAGE)) for side in sides)
        return frozenset(one for one in read if is_worker(one)).union(*wrote)

    @cached_property
    def _nodes(self) -> dict[str, tuple[Target, ...]]:
        return {}


def _may_be_hurt(node: str, strikes: Sequence[Blow], way: Route) -> bool:
    """Hit, as far as is known. Of a request that nobody wrote of, any node of a role that no
    strike hit may be where it stands; and any node at all, where no strike did anything to it."""
    if not strikes or any(not one.targets or one.touches(node) for one in strikes):
        return True
    hit = {role_of(end) for one in strikes for target in one.targets for end in target.ends}
    return not way.used and role_of(node) not in hit


def _workers(about: str) -> tuple[Target, ...]:
    """The workers that a reading is about; a router's gauge of one worker is about that one."""
    return tuple(one for one in targets(about) if one.is_worker)


def _detection(firing: Firing, fate: Fate) -> Detection:
    return Detection(firing, seconds(max(0, firing.at_ns - fate.since_ns)))
