"""Owns what a request's ending says to a client that follows the protocol."""

from __future__ import annotations

from enum import Enum

from chaos.event import Event, Kind

FINISH_REASONS = frozenset({"stop", "length"})


class Ending(Enum):
    COMPLETE = "complete"  # the client takes it for the whole answer
    ERROR = "error"  # the client is told that it failed: a status, an event, a broken connection
    CANCELLED = "cancelled"  # the client closed the connection itself
    MUTE = "mute"  # it failed, and nothing says so: the stream just ends


def ending(settled: Event) -> Ending:
    """How a client reads it.

    A stream that ends cleanly without finish_reason and [DONE] is mute: client libraries stop
    iterating and raise nothing. A finish_reason other than "stop" and "length" ("abort") names a
    failure, and so does a body that is not JSON.
    """
    detail = settled.detail
    if settled.kind is Kind.CANCELLED:
        return Ending.CANCELLED
    if settled.kind is Kind.REFUSED:
        return Ending.ERROR
    if settled.kind is Kind.BROKE:
        mute = detail.get("how") == "truncated" and not _unparsable(settled)
        return Ending.MUTE if mute else Ending.ERROR
    if detail.get("done") is False or not detail.get("finish_reason"):
        return Ending.MUTE
    return Ending.COMPLETE if detail["finish_reason"] in FINISH_REASONS else Ending.ERROR


def _unparsable(settled: Event) -> bool:
    """A reply in one piece that is not JSON: no client can take that for an answer."""
    return settled.detail.get("done", False) is None and settled.detail.get("tokens") == 0


def error_name(settled: Event) -> str:
    """Who told the client, where no guard's own event does: the reply itself."""
    detail = settled.detail
    if settled.kind is Kind.REFUSED:
        return f"error reply {detail.get('status', detail.get('code'))}"
    if settled.kind is Kind.FINISHED:
        return f"finish reason {detail.get('finish_reason')}"
    return "transport" if detail.get("how") == "transport" else "error event"
