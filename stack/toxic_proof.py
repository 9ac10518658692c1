"""The proof that a toxic took effect on a link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from chaos.contracts import Evidence
from chaos.event import Json
from stack.link_traffic import Traffic

_CLOSING = frozenset({"timeout", "limit_data", "reset_peer", "slow_close"})


@dataclass(frozen=True, slots=True)
class Passage:
    """What happened on one direction of a link between two looks at it."""

    received_bytes: int  # came in from the sender
    sent_bytes: int  # went on to the far side
    held_bytes: int  # came in and did not go on
    open_connections: int
    opened_connections: int
    ended_connections: int  # at least this many
    closing_connections: int  # still held by the proxy although the peer has gone

    @classmethod
    def between(cls, before: Traffic, now: Traffic, stream: str) -> Passage:
        sent = max(0, now.of(stream).sent - before.of(stream).sent)
        # What went on had come in. The kernel forgets a connection that `limit_data` has cut, and
        # Toxiproxy counts what came from it only when its reader ends, which it may never do.
        received = max(sent, now.of(stream).received - before.of(stream).received)
        unseen = 1 if now.ended_bytes > before.ended_bytes else 0
        return cls(
            received_bytes=received,
            sent_bytes=sent,
            held_bytes=max(0, received - sent),
            open_connections=len(now.clients),
            opened_connections=len(now.clients - before.clients),
            ended_connections=max(len(before.clients - now.clients), unseen),
            closing_connections=now.closing,
        )

    def or_more(self, earlier: Passage | None) -> Passage:
        """With what was seen at its height: the kernel forgets a socket that is closed."""
        if earlier is None:
            return self
        return replace(
            self,
            received_bytes=max(self.received_bytes, earlier.received_bytes),
            held_bytes=max(self.held_bytes, earlier.held_bytes),
        )


def took_effect(toxic: str, attributes: Mapping[str, Json], passage: Passage) -> bool:
    """Did this toxic act on something, as far as the counters show?

    | toxic | what must have been seen while it was on |
    |---|---|
    | timeout | bytes came in and did not go on; with a time-out above 0 also: a connection ended |
    | bandwidth, rate 0 | bytes came in and did not go on |
    | bandwidth, latency, slicer | bytes came in: each of them was delayed or cut up |
    | limit_data | at least so many bytes came in, and a connection ended |
    | reset_peer | a connection ended |
    | slow_close | a connection ended, or has lost its peer and is still held |

    That a connection ended *because of* the toxic is not proven: it may have ended by itself,
    also in the milliseconds between the look before the toxic and its coming on.
    """
    if only_delays(toxic, attributes):
        return passage.received_bytes > 0
    if toxic == "bandwidth":
        return passage.held_bytes > 0
    return toxic in _CLOSING and _closed(toxic, attributes, passage)


def only_delays(toxic: str, attributes: Mapping[str, Json]) -> bool:
    """Does everything arrive in the end, while it is on?"""
    stalls = toxic == "bandwidth" and _number(attributes, "rate") <= 0
    return toxic in {"latency", "bandwidth", "slicer"} and not stalls


def _closed(toxic: str, attributes: Mapping[str, Json], passage: Passage) -> bool:
    ended = passage.ended_connections > 0
    if toxic == "timeout":
        return passage.held_bytes > 0 or (ended and _number(attributes, "timeout") > 0)
    if toxic == "limit_data":
        return ended and passage.received_bytes >= _number(attributes, "bytes")
    return ended or (toxic == "slow_close" and passage.closing_connections > 0)


def _number(attributes: Mapping[str, Json], name: str) -> float:
    value = attributes.get(name, 0)
    return value if isinstance(value, int | float) else 0.0


@dataclass(frozen=True, slots=True)
class ToxicProof:
    """Compares the link now with the link when the toxic had just been put on.

    `bit` needs the toxic read back from the server *and* `took_effect`. Where nobody can count
    (a server on another machine) the read-back is all there is, and `traffic` says "unknown".
    """

    toxic: str
    attributes: Mapping[str, Json]
    stream: str
    is_on: Callable[[], bool]
    passage: Callable[[], Passage | None]

    def read(self) -> Evidence:
        is_on = self.is_on()
        detail: dict[str, Json] = {
            "toxic": self.toxic,
            "stream": self.stream,
            **self.attributes,
            "read_back": is_on,
        }
        passage = self.passage()
        if passage is None:
            return Evidence(is_on, {**detail, "traffic": "unknown"})
        acted = took_effect(self.toxic, self.attributes, passage)
        return Evidence(is_on and acted, {**detail, **asdict(passage)})


@dataclass(frozen=True, slots=True)
class CutProof:
    """The server says that the link is disabled, and our own connection attempt was refused."""

    is_disabled: Callable[[], bool]
    is_refused: Callable[[], bool]
    look: Callable[[], Traffic | None]
    before: Traffic | None

    def read(self) -> Evidence:
        disabled, refused = self.is_disabled(), self.is_refused()
        now = self.look()
        ended: Json = None
        if self.before is not None and now is not None:
            ended = len(self.before.clients - now.clients)
        return Evidence(
            disabled and refused,
            {"read_back": disabled, "refused": refused, "ended_connections": ended},
        )
