"""Owns what a request's ending says to a client that follows the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from chaos.event import Event, Json, Kind

# OpenAI's, which both engines and both routers speak: the reply is whole, whichever of them it is.
ANSWERS: Final = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})
FAILURES: Final = frozenset({"abort", "error"})  # SGLang's and vLLM's own: it was given up
UNPARSABLE: Final = "unparsable"  # BROKE, how: a body in one piece that is not JSON
NO_JSON: Final = "expected a JSON object as body"  # how older histories tell of it


class Ending(Enum):
    COMPLETE = "complete"  # the client takes it for the whole answer
    ERROR = "error"  # the client is told that it failed: a status, an event, a broken connection
    CANCELLED = "cancelled"  # the client closed the connection itself
    MUTE = "mute"  # it failed, and nothing says so: the stream just ends


def ending(settled: Event) -> Ending:
    """How a client reads it."""
    return ending_of(settled.kind, settled.detail)


def ending_of(kind: Kind, detail: Mapping[str, Json]) -> Ending:
    """How a client reads an ending of this kind. Load generator and judge share this meaning.

    A stream that ends cleanly without finish_reason and [DONE] is mute: client libraries stop
    iterating and raise nothing. A finish reason that the protocol does not know is no answer:
    "abort" names a failure, and one that nobody knows is told by its name. Neither is a body that
    is not JSON; one that is JSON and lacks its finish reason is mute.
    """
    if kind is Kind.CANCELLED:
        return Ending.CANCELLED
    if kind is Kind.REFUSED:
        return Ending.ERROR
    if kind is Kind.BROKE:
        mute = detail.get("how") == "truncated" and not _unparsable(detail)
        return Ending.MUTE if mute else Ending.ERROR
    if detail.get("done") is False or not detail.get("finish_reason"):
        return Ending.MUTE
    return Ending.COMPLETE if detail["finish_reason"] in ANSWERS else Ending.ERROR


def _unparsable(detail: Mapping[str, Json]) -> bool:
    """A reply in one piece that is not JSON: no client can take that for an answer."""
    told = str(detail.get("why", "")).startswith(NO_JSON)
    in_one_piece = "done" in detail and detail["done"] is None
    return detail.get("how") == UNPARSABLE or (in_one_piece and told)


def error_name(settled: Event) -> str:
    """Who told the client, where no guard's own event does: the reply itself."""
    detail = settled.detail
    if settled.kind is Kind.REFUSED:
        return f"error reply {detail.get('status', detail.get('code'))}"
    if settled.kind is Kind.FINISHED:
        reason = detail.get("finish_reason")
        return (
            f"finish reason {reason}" if reason in FAILURES else f"unknown finish reason {reason}"
        )
    if _unparsable(detail):
        return "a body that is not JSON"
    return "transport" if detail.get("how") == "transport" else "error event"
