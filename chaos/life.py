"""Owns the life of one request, as its client and the nodes wrote it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.event import SETTLED, Event, Kind

# Looked up once: reading a member from its class costs more than the comparison it is for.
SENT, TOKENS, STAGE, GUARD = Kind.SENT, Kind.TOKENS, Kind.STAGE, Kind.GUARD
RECOVER = "recover/"  # the ids of the requests that the run itself sends after healing


@dataclass(frozen=True, slots=True)
class Life:
    request_id: str
    sent: Event
    settled: Event | None
    text: str  # what the client received, complete or not
    signs_ns: tuple[int, ...]  # when its client sent it, and received each token
    stages: tuple[Event, ...]
    guards: tuple[Event, ...]

    @property
    def heard_ns(self) -> int:
        """When its client last received a token; when it sent, if it never did."""
        return self.signs_ns[-1]

    def silence_ns(self, since_ns: int) -> int:
        """The longest that its client heard nothing, from then to its end."""
        ends = (*self.signs_ns[1:], self.settled.at_ns if self.settled else self.heard_ns)
        gaps = (end - max(sign, since_ns) for sign, end in zip(self.signs_ns, ends, strict=True))
        return max(0, *gaps)

    def hung_ns(self, bound_ns: int) -> int | None:
        """When its client had heard nothing for that long; None: it never came to that."""
        ends = (*self.signs_ns[1:], self.settled.at_ns if self.settled else None)
        for sign_ns, end_ns in zip(self.signs_ns, ends, strict=True):
            if end_ns is None or end_ns - sign_ns >= bound_ns:
                return sign_ns + bound_ns
        return None

    @property
    def is_recovery(self) -> bool:
        return self.request_id.startswith(RECOVER)

    @property
    def tokens_max(self) -> int | None:
        """How many tokens its client asked for. None: an older history, which does not tell."""
        told = self.sent.detail.get("tokens_max")
        return told if isinstance(told, int) else None

    @property
    def is_greedy(self) -> bool:
        """Its reply is no matter of chance. Older histories do not tell; all of theirs were."""
        return not self.sent.detail.get("temperature")

    @property
    def prompt(self) -> str | None:
        """The digest of what was asked, transcript included. None: an older history."""
        told = self.sent.detail.get("prompt_sha256")
        return told if isinstance(told, str) else None

    @property
    def routing_key(self) -> str | None:
        key = self.sent.detail.get("routing_key")
        return key if isinstance(key, str) and key else None


def base_id(request_id: str) -> str:
    """The round that this request tries: an agent sends "r1" again as "r1+1", "r1+2", ..."""
    head, plus, tail = request_id.rpartition("+")
    return head if plus and tail.isdigit() else request_id


def life(request_id: str, events: Sequence[Event]) -> Life | None:
    """Read one request's events, in the order of time. None: it was never sent."""
    # One kind after the other, in comprehensions: most events are tokens, and the first look at
    # one that has left the processor's cache costs more than ten later ones.
    tokens = [one for one in events if one.kind is TOKENS]
    others = [one for one in events if one.kind is not TOKENS]
    sent = next((one for one in others if one.kind is SENT), None)
    if sent is None:
        return None
    settled = next((one for one in others if one.kind in SETTLED), None)
    text = "".join([str(one.detail.get("text", "")) for one in tokens])
    signs_ns = _signs(sent, [one.at_ns for one in tokens], settled)
    stages = tuple([one for one in others if one.kind is STAGE])
    guards = tuple([one for one in others if one.kind is GUARD])
    return Life(request_id, sent, settled, text, signs_ns, stages, guards)


def _signs(sent: Event, heard_ns: Sequence[int], settled: Event | None) -> tuple[int, ...]:
    """A token that is told after its request's end is no sign of it."""
    if settled is not None and heard_ns and heard_ns[-1] > settled.at_ns:
        heard_ns = [one for one in heard_ns if one <= settled.at_ns]
    return sent.at_ns, *heard_ns
