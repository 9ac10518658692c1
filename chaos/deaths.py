"""Owns the nodes that died by themselves, and which requests they took with them."""

from __future__ import annotations

from chaos.event import Kind
from chaos.history import History
from chaos.life import Life
from chaos.route import route
from chaos.stage import WORK

NOTICED_S = 0.3  # whoever owns the process writes its death down at most so long after it


class Deaths:
    """Of one history. A death by a strike is none: its proof tells of that one."""

    def __init__(self, history: History) -> None:
        self._died_ns = {one.about: one.at_ns for one in reversed(history.of(Kind.DIED))}
        self._back_ns: dict[str, int] = {}
        for one in history.of(Kind.STAGE):
            died_ns = self._died_ns.get(one.actor)
            if died_ns is not None and one.stage in WORK and one.at_ns > died_ns:
                self._back_ns.setdefault(one.actor, one.at_ns)

    def before(self, node: str, at_ns: int) -> bool:
        """Whether its death was known by then. A guard that spoke earlier may have caused it."""
        return node in self._died_ns and self._died_ns[node] <= at_ns

    def under(self, life: Life, at_ns: int) -> bool:
        """Whether a worker that the request may have used had died by then, and did not work again
        before the request was sent."""
        way = route(life)
        return any(
            self.before(node, at_ns)
            and way.may_use(node)
            and life.sent.at_ns <= self._back_ns.get(node, life.sent.at_ns)
            for node in self._died_ns
        )
