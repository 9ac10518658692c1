"""Owns the question whether waiting longer could still show anything new."""

from __future__ import annotations

from threading import Lock

from chaos.clock import ns
from chaos.event import SETTLED, Kind, Mark
from chaos.specification import Budgets

MARGIN_S = 0.1  # the judge counts in the history's own time, and must find the bound over


class Vigil:
    """Hears every mark, and knows which requests wait and since when.

    A request that has waited for its whole settle_s since it was sent, was last struck or last
    brought a token is hung: that is decided, whatever comes later. (The judge counts from the first
    strike that could touch it, which is never later: see chaos.charge.) Once that is true of every
    request that waits, and the time in which an alert may fire is over too, more waiting only
    costs time.
    """

    def __init__(self, budgets: Budgets) -> None:
        self._patience_ns = ns(max(budgets.settle_s, budgets.detect_s) + MARGIN_S)
        self._lock = Lock()
        self._waiting: dict[str, int] = {}
        self._struck_ns = 0

    def hear(self, mark: Mark) -> None:
        with self._lock:
            if mark.kind is Kind.SENT:
                self._waiting[mark.about] = mark.at_ns
            elif mark.kind in SETTLED:
                self._waiting.pop(mark.about, None)
            elif mark.kind is Kind.TOKENS:
                self._hear_token(mark)
            elif mark.kind is Kind.STRUCK:
                self._struck_ns = max(self._struck_ns, mark.at_ns)

    def _hear_token(self, mark: Mark) -> None:
        """A token that comes after the bound, when the fault was healed, excuses nothing."""
        since_ns = self._waiting.get(mark.about)
        if since_ns is not None:
            in_time = mark.at_ns - max(since_ns, self._struck_ns) <= self._patience_ns
            self._waiting[mark.about] = mark.at_ns if in_time else since_ns

    def is_hopeless(self, now_ns: int) -> bool:
        """True when some request waits, and all that do have waited long enough to be hung."""
        with self._lock:
            since_ns = [max(one, self._struck_ns) for one in self._waiting.values()]
        return bool(since_ns) and now_ns - max(since_ns) > self._patience_ns
