"""Owns the question, while an experiment runs, whether a request is kept whose client has left.

What was to be let go within its bound must be watched until then: a strike that ended with its last
client would free it, and nobody would know how long it would have been kept.
"""

from __future__ import annotations

from threading import Lock

from chaos.clock import ns
from chaos.departure import is_idle_gauge, telling
from chaos.event import Kind, Mark
from chaos.history import History
from chaos.specification import Budgets
from chaos.stage import Stage

HEARD = frozenset({Kind.CANCELLED, Kind.STAGE, Kind.READING})
MARGIN_S = 0.3  # the mark of the last moment, and the sample after it, still reach us


class DepartureWatch:
    """Hears every mark. Believes a node that tells of its cleaning up; of any other its gauges."""

    def __init__(self, budgets: Budgets, control: History | None) -> None:
        self._patience_ns = ns(budgets.release_s + MARGIN_S)
        self._telling = telling(control) if control is not None else frozenset[str]()
        self._lock = Lock()
        self._left_ns: dict[str, int] = {}
        self._held: dict[str, set[tuple[str, int | None]]] = {}
        self._up: set[str] = set()

    def hear(self, mark: Mark) -> None:
        if mark.kind not in HEARD:
            return
        with self._lock:
            if mark.kind is Kind.CANCELLED:
                self._left_ns[mark.about] = mark.at_ns
            elif mark.kind is Kind.STAGE and mark.actor in self._telling:
                held = self._held.setdefault(mark.about, set())
                change = held.discard if mark.stage is Stage.CLEANUP else held.add
                change((mark.actor, mark.attempt))
            elif mark.kind is Kind.READING and is_idle_gauge(mark.actor, mark.detail):
                self._hear_gauge(mark)

    def _hear_gauge(self, mark: Mark) -> None:
        value = mark.detail.get("value")
        up = isinstance(value, int | float) and value > 0
        if up and mark.about.partition("/")[0] not in self._telling:
            self._up.add(mark.about)
        else:
            self._up.discard(mark.about)

    def is_open(self, now_ns: int) -> bool:
        """Whether some request is still held whose client left, and its bound is not over."""
        with self._lock:
            late = {
                one for one, at_ns in self._left_ns.items() if now_ns < at_ns + self._patience_ns
            }
            return any(self._held.get(one) for one in late) or bool(late and self._up)
