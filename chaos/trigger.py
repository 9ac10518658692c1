"""Owns the moment at which a strike begins: a request enters a stage, or its client hears of it."""

from __future__ import annotations

from chaos.event import Kind, Mark
from chaos.experiment import Entering, Streaming
from chaos.stage import Stage


class Tripwire:
    """Tells which mark is the one that a strike waits for.

    The n-th attempt is the n-th distinct bootstrap room seen for that request. What no node can
    tell, the client does: it enters `client` when it sends, and `stream` with the first piece of
    a reply, which on an engine without stage marks is the only sign.
    """

    def __init__(self, on: Entering | Streaming) -> None:
        self._on = on
        self._rooms: list[int] = []

    def trips(self, mark: Mark) -> bool:
        if mark.about != self._on.request_id:
            return False
        if isinstance(self._on, Streaming):
            return mark.kind is Kind.TOKENS
        if mark.attempt is not None and mark.attempt not in self._rooms:
            self._rooms.append(mark.attempt)
        if mark.attempt is None:
            ordinal = max(1, len(self._rooms))
        else:
            ordinal = 1 + self._rooms.index(mark.attempt)
        return _entered(mark) is self._on.stage and ordinal == self._on.attempt


def _entered(mark: Mark) -> Stage | None:
    if mark.kind is Kind.SENT:
        return Stage.CLIENT
    if mark.kind is Kind.TOKENS:
        return Stage.STREAM
    return mark.stage if mark.kind is Kind.STAGE else None
