"""One request as its client and the nodes saw it, read by a plain loop over the events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chaos.event import SETTLED, Event, Kind

ROLES = ("prefill", "decode")


@dataclass
class Asked:
    """Filled while its events are read, in the order of time."""

    name: str
    sent: Event
    sends: int = 0
    ends: list[Event] = field(default_factory=list[Event])
    pieces: list[Event] = field(default_factory=list[Event])
    stages: list[Event] = field(default_factory=list[Event])
    guards: list[Event] = field(default_factory=list[Event])

    @property
    def end(self) -> Event | None:
        return self.ends[0] if self.ends else None

    @property
    def text(self) -> str:
        return "".join(str(one.detail.get("text", "")) for one in self.pieces)

    @property
    def round(self) -> str:
        """The round that it tries: "r1" for "r1+2"."""
        head, plus, tail = self.name.rpartition("+")
        return head if plus and tail.isdigit() else self.name

    @property
    def key(self) -> str | None:
        key = self.sent.detail.get("routing_key")
        return key if isinstance(key, str) and key else None

    @property
    def signs_ns(self) -> list[int]:
        """When it was sent, and when a token came."""
        return [self.sent.at_ns, *(one.at_ns for one in self.pieces)]

    @property
    def nodes(self) -> set[str]:
        """Where it was seen. It passed the router in any case."""
        return {"router", *(one.actor for one in [*self.stages, *self.guards])}

    def may_have_been_on(self, node: str) -> bool:
        """A role of which no node has told of it leaves every node of that role possible."""
        role = role_of(node)
        seen = {one for one in self.nodes if role_of(one) == role}
        return node in seen or (role in ROLES and not seen)


def role_of(node: str) -> str:
    return node.rpartition("-")[0] or node


def asked(events: Sequence[Event], *, recovery: bool = False) -> list[Asked]:
    """Every request of the load (or of the recovery) that was sent, in the order of sending."""
    found: dict[str, Asked] = {}
    for event in events:
        if event.about.startswith("recover/") is not recovery:
            continue
        if event.kind is Kind.SENT:
            one = found.setdefault(event.about, Asked(event.about, event))
            one.sends += 1
    for event in events:
        one = found.get(event.about)
        if one is not None:
            _take(one, event)
    return list(found.values())


def _take(one: Asked, event: Event) -> None:
    if event.kind in SETTLED:
        one.ends.append(event)
    elif event.kind is Kind.TOKENS and not one.ends:
        one.pieces.append(event)
    elif event.kind is Kind.STAGE:
        one.stages.append(event)
    elif event.kind is Kind.GUARD:
        one.guards.append(event)
