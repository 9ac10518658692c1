"""A history, regrouped for the eye: one life per request, one window per strike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from chaos.event import SETTLED, Event, Kind
from chaos.history import History


@dataclass(frozen=True, slots=True)
class Life:
    """What happened to one request; `ended` is None for one that hung or was given up."""

    request_id: str
    sent: Event
    ended: Event | None
    stages: tuple[Event, ...]
    guards: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """When one strike hurt; `healed` is None where it was never undone."""

    strike: str
    struck: Event
    healed: Event | None

    @property
    def bit(self) -> bool:
        """It took effect, by the proof read on entry or the one read before it was undone."""
        proofs = (self.struck, self.healed) if self.healed else (self.struck,)
        return any(proof.detail.get("bit") is True for proof in proofs)


def lives(history: History) -> tuple[Life, ...]:
    """One life per request that was sent, in the order of sending."""
    by_request: dict[str, list[Event]] = defaultdict(list)
    for event in history:
        by_request[event.about].append(event)
    sent = [event for event in history if event.kind is Kind.SENT]
    return tuple(_life(event, by_request[event.about]) for event in sent)


def windows(history: History) -> tuple[Window, ...]:
    """One window per strike that happened, in the order of striking."""
    healed = {event.about: event for event in history if event.kind is Kind.HEALED}
    return tuple(
        Window(event.about, event, healed.get(event.about))
        for event in history
        if event.kind is Kind.STRUCK
    )


def phases(history: History) -> tuple[Event, ...]:
    return tuple(event for event in history if event.kind is Kind.PHASE)


def guards_on_nodes(history: History, requests: Iterable[Life]) -> tuple[Event, ...]:
    """What guards did that was about no single request."""
    known = {life.request_id for life in requests}
    return tuple(e for e in history if e.kind is Kind.GUARD and e.about not in known)


def _life(sent: Event, events: list[Event]) -> Life:
    settled = [event for event in events if event.kind in SETTLED and event.seq > sent.seq]
    return Life(
        sent.about,
        sent,
        settled[0] if settled else None,
        tuple(event for event in events if event.kind is Kind.STAGE),
        tuple(event for event in events if event.kind is Kind.GUARD),
    )
