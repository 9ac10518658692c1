"""An experiment's past: ordered, finished, read-only, with its indexes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from chaos.actor import RESOURCE
from chaos.event import Event, Kind, Mark
from chaos.life import Life, base_id, life
from chaos.specification import Specification


@dataclass(frozen=True)
class History:
    """Events in the order of time; `control` is the fault-free run of the same seed.

    Each index is built once, in one pass, when somebody first asks for it.
    """

    events: tuple[Event, ...]
    specification: Specification
    control: History | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __bool__(self) -> bool:
        """An empty history is still one: `if history.control` asks whether there is a control."""
        return True

    def of(self, kind: Kind) -> Sequence[Event]:
        return self._index[0].get(kind, ())

    def about(self, subject: str) -> Sequence[Event]:
        return self._index[1].get(subject, ())

    @property
    def resources(self) -> Sequence[Event]:
        """What was read of resources, and what of them could not be read, in order."""
        return self._looks[0]

    @property
    def signals(self) -> Sequence[Event]:
        """What else was read, and what could not be read: what an operator could have seen."""
        return self._looks[1]

    def phase_ns(self, phase: str) -> int | None:
        """When this phase began. None: the run never came so far."""
        return next((e.at_ns for e in self.of(Kind.PHASE) if e.about == phase), None)

    @property
    def start_ns(self) -> int:
        return self.events[0].at_ns if self.events else 0

    @property
    def end_ns(self) -> int:
        return self.events[-1].at_ns if self.events else 0

    @cached_property
    def lives(self) -> Mapping[str, Life]:
        """Every request that was sent, by its id, in the order of sending."""
        told = ((e.about, life(e.about, self.about(e.about))) for e in self.of(Kind.SENT))
        return {request_id: one for request_id, one in told if one is not None}

    def reference(self, life: Life) -> Life | None:
        """The same request in the control; a round that is tried again is the same request."""
        if self.control is None:
            return None
        lives = self.control.lives
        return lives.get(life.request_id) or lives.get(base_id(life.request_id))

    @cached_property
    def _looks(self) -> tuple[Sequence[Event], Sequence[Event]]:
        told = [*self.of(Kind.READING), *self.of(Kind.UNREADABLE)]
        told.sort(key=attrgetter("seq"))
        resources = [one for one in told if one.actor == RESOURCE]
        return resources, [one for one in told if one.actor != RESOURCE]

    @cached_property
    def _index(self) -> tuple[Mapping[Kind, list[Event]], Mapping[str, list[Event]]]:
        """Events by kind and by subject, in one pass."""
        by_kind: defaultdict[Kind, list[Event]] = defaultdict(list)
        by_about: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            by_kind[event.kind].append(event)
            by_about[event.about].append(event)
        return dict(by_kind), dict(by_about)


def ordered(marks: Sequence[Mark]) -> tuple[Event, ...]:
    """Give each mark its place: by time, and among equals in the order of their arrival."""
    return tuple(
        Event(seq, m.at_ns, m.actor, m.kind, m.about, m.stage, m.attempt, m.detail)
        for seq, m in enumerate(sorted(marks, key=attrgetter("at_ns")))
    )
