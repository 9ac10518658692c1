"""One event as one line of text, the same in every report."""

from __future__ import annotations

from chaos.event import Event, Json
from chaos.history import History

NS_PER_S = 1_000_000_000
DETAIL_CHARACTERS_MAX = 120


def beginning_ns(history: History) -> int:
    """The moment that every report counts from: the first event, or 0 where there is none."""
    return history.events[0].at_ns if history.events else 0


def seconds_in(history: History, event: Event) -> float:
    """When this event happened, in seconds since the history began."""
    return (event.at_ns - beginning_ns(history)) / NS_PER_S


def event_line(event: Event, at_s: float) -> str:
    """Seq, time, who, what, about whom, and the details: `#12  +0.482 s  client  sent  r1`."""
    what = f"{event.kind.value} {event.stage.value}" if event.stage else event.kind.value
    attempt = f" attempt {event.attempt}" if event.attempt is not None else ""
    detail = " ".join(f"{name}={_shown(value)}" for name, value in event.detail.items())
    line = f"#{event.seq:<5} +{at_s:8.3f} s  {event.actor:<10} {what:<18} {event.about}{attempt}"
    return f"{line}  {detail}".rstrip()


def _shown(value: Json) -> str:
    text = repr(value) if isinstance(value, str) and " " in value else str(value)
    if len(text) <= DETAIL_CHARACTERS_MAX:
        return text
    return f"{text[:DETAIL_CHARACTERS_MAX]}... ({len(text)} characters)"
