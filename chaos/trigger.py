"""Owns the moment at which a strike begins: when an attempt of a request enters a stage."""

from __future__ import annotations

from chaos.event import Kind, Mark
from chaos.experiment import Entering
from chaos.stage import Stage


class Tripwire:
    """Tells which mark is the one that a strike waits for.

    The n-th attempt is the n-th distinct bootstrap room seen for that request. What no node can
    tell, the client does: it enters `client` when it sends, and `stream` with the first piece of
    a reply, which on an engine without stage marks is the only sign.
    """

    def __init__(self, on: Entering) -> None:
        self._on = on
        self._rooms: list[int] = []

    def trips(self, mark: Mark) -> bool:
        if mark.about != self._on.request_id:
            return False
        if mark.attempt is not None and mark.attempt not in self._rooms:
            self._rooms.append(mark.attempt)
        return _entered(mark) is self._on.stage and self._ordinal(mark) == self._on.attempt

    def _ordinal(self, mark: Mark) -> int:
        if mark.attempt is None:
            return max(1, len(self._rooms))
        return 1 + self._rooms.index(mark.attempt)


def _entered(mark: Mark) -> Stage | None:
    if mark.kind is Kind.SENT:
        return Stage.CLIENT
    if mark.kind is Kind.TOKENS:
        return Stage.STREAM
    return mark.stage if mark.kind is Kind.STAGE else None
