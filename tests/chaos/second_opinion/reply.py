"""What a reply says to a client that follows the protocol, compared with the right one."""

from __future__ import annotations

from enum import Enum
from hashlib import sha256

from chaos.event import Event, Kind
from tests.chaos.second_opinion.asked import Asked

GOOD_REASONS = ("stop", "length", "tool_calls", "content_filter")


class Reply(Enum):
    RIGHT = "right"
    HONEST = "an error that its client can see"
    WRONG = "taken for complete, and it is not"
    LEFT = "its client left"
    OPEN = "no ending"


def reply(one: Asked, right: Asked | None) -> Reply:
    """`right`: what the control got for the same prompt, where the two can be compared."""
    end = one.end
    if end is None or end.kind is Kind.CANCELLED:
        return Reply.LEFT if end else Reply.OPEN
    if _is_mute(end) or _too_many_tokens(one, end):
        return Reply.WRONG
    if is_error(one):
        return Reply.HONEST if right is None or right.text.startswith(one.text) else Reply.WRONG
    return Reply.RIGHT if right is None or _same(one, right) else Reply.WRONG


def is_error(one: Asked) -> bool:
    """Its client was told that it failed."""
    end = one.end
    if end is None or _is_mute(end):
        return False
    if end.kind is Kind.FINISHED:
        return end.detail.get("finish_reason") not in GOOD_REASONS
    return end.kind in (Kind.REFUSED, Kind.BROKE)


def _is_mute(end: Event) -> bool:
    """It stopped short, and no word told the client."""
    return end.kind is Kind.BROKE and end.detail.get("how") == "truncated"


def _too_many_tokens(one: Asked, end: Event) -> bool:
    most, came = one.sent.detail.get("tokens_max"), end.detail.get("usage")
    return isinstance(most, int) and isinstance(came, int) and came > most


def asked_the_same(one: Asked, right: Asked) -> bool:
    if one.sent.detail.get("temperature"):
        return False
    ours, theirs = (each.sent.detail.get("prompt_sha256") for each in (one, right))
    return ours is None or theirs is None or ours == theirs


def _same(one: Asked, right: Asked) -> bool:
    if one.text != right.text:
        return False
    ours, theirs = (
        each.end.detail.get("finish_reason") if each.end else None for each in (one, right)
    )
    return ours is None or theirs is None or ours == theirs


def pieces_are_missing(one: Asked) -> bool:
    """The history has not all that its client received."""
    told = one.end.detail.get("sha256") if one.end else None
    return isinstance(told, str) and told != sha256(one.text.encode()).hexdigest()
