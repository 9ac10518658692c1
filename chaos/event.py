"""What can happen in an experiment. Every other module speaks in these words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from chaos.stage import Stage

NUMBERS = (int, float)  # made once: this is asked of each reading
Json = str | int | float | bool | None


class Kind(Enum):
    """One word for each thing that can be written down, with the details it carries."""

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a call per event

    PHASE = "phase"  # about: steady, disturb, heal, converge, recover, done
    # A client's view of one request.
    SENT = "sent"  # routing_key, prompt_bytes, prompt_sha256, tokens_max, temperature, stop
    TOKENS = "tokens"  # text: one piece of the reply
    # finish_reason, tokens, usage (tokens as the engine tells them, or null), sha256 of the reply,
    FINISHED = "finished"  # done ([DONE] seen)
    REFUSED = "refused"  # status, code, error: an error reply before any token
    BROKE = "broke"  # why, how: "error_event" | "transport" | "truncated" | "unparsable"
    CANCELLED = "cancelled"  # our client closed the connection on purpose
    SKIPPED = "skipped"  # a later round that was never sent: its agent gave up before
    # A node's view.
    STAGE = "stage"  # a request entered event.stage on event.actor
    GUARD = "guard"  # guard, why: a guard acted; about is the request, or the node itself
    # A process ended, and nobody who plays the experiment had told it to. About: its node.
    DIED = "died"  # part, exit_code or signal (neither: nobody could read it), last_words
    # The experiment's own deeds.
    STRUCK = "struck"  # about: the strike; detail: the proof read on entry, with "bit"
    HEALED = "healed"  # about: the strike; detail: the proof read before undoing, with "bit"
    READING = "reading"  # about: "node/metric"; value, probe: the name of who read it
    UNREADABLE = "unreadable"  # about: "node/metric" or "node"; why: a probe got no answer
    LAG = "lag"  # lag_s: our own load generator's loop was late by this much
    LOST = "lost"  # count: a node dropped this many trace marks; the evidence has a hole
    TOOL_ERROR = "tool_error"  # why: our own code failed; nothing after it can be trusted


SETTLED = frozenset({Kind.FINISHED, Kind.REFUSED, Kind.BROKE, Kind.CANCELLED})


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that somebody observed, before the recorder gave it its place in history.

    `at_ns` is CLOCK_MONOTONIC of the machine, which all processes of one machine share.
    """

    at_ns: int
    actor: str  # who observed it: "client", "decode-0", "router", "fault", "probe", "run"
    kind: Kind
    about: str  # a request id, a strike, a reading's name, a phase
    stage: Stage | None = None
    attempt: int | None = None  # the bootstrap room: routers retry with a new one
    detail: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Event:
    """One line of history: a mark and its place."""

    seq: int
    at_ns: int
    actor: str
    kind: Kind
    about: str
    stage: Stage | None = None
    attempt: int | None = None
    detail: Mapping[str, Json] = field(default_factory=dict[str, Json])


def number(event: Event, name: str) -> float:
    """A number from the event's detail. ValueError: it is not there, or it is not a number."""
    value = event.detail.get(name)
    if isinstance(value, NUMBERS):
        return float(value)
    raise ValueError(
        f"event {event.seq} ({event.kind.value}): {name} must be a number, not {value!r}"
    )
