"""A router's circuit breaker as a guard: it condemns the worker for which it opens.

Both routers count failures per worker. At the threshold (`--cb-failure-threshold`) the breaker
opens: that worker gets no request, and where it was the last one of its role every client is
answered 503 at once. After `--cb-timeout-duration-secs` it is half open: requests pass again, three
successes in a row close it, and the first failure opens it for as long once more. Neither router
has a timer for that: a breaker turns when the next request comes, and the gauge until then shows
"open".

What both count as a worker's failure (seen, smg 1.13.0 and sglang-router 0.3.2): each 5xx of the
decode is a failure of the decode *and of the prefill*, which had done its part or nothing at all.
An honest "I am full" (503) is one, too. So a crowd that one full decode turned away closes every
worker to everybody for seconds (smg#2565, sglang#39464).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from chaos.clock import ns
from chaos.contracts import Unreadable
from chaos.event import Kind, Mark
from stack.metrics_page import samples
from stack.page import fetch

BREAKER: Final = "router_breaker"
TRANSITION: Final = "Circuit breaker state transition"
_COUNTER: Final = "smg_worker_cb_transitions_total"
_OPEN: Final = "open"
_READ_S: Final = 1.0
_Turn = tuple[str, str]  # node, state before


def opened(node: str, was: str, now: str) -> Mark | None:
    """About the worker, when this turn condemns it. Taking it back is told by the gauge alone."""
    if now != _OPEN:
        return None
    detail = {"guard": BREAKER, "why": f"its circuit breaker opened: {was} -> {now}"}
    return Mark(time.monotonic_ns(), "router", Kind.GUARD, node, detail=detail)


class Pauses:
    """How long the router keeps from a worker whose breaker opened. Nothing else of it tells: the
    gauge shows "open" until somebody asks."""

    def __init__(self, pause_s: float) -> None:
        self._pause_ns = ns(pause_s)
        self._until_ns = 0

    def hear(self, marks: Sequence[Mark]) -> None:
        ends = (m.at_ns + self._pause_ns for m in marks if m.detail.get("guard") == BREAKER)
        self._until_ns = max((self._until_ns, *ends))

    def forget(self) -> None:
        """A router that was replaced condemns nobody."""
        self._until_ns = 0

    def over(self, now_ns: int) -> bool:
        return now_ns >= self._until_ns


class TransitionPage:
    """For a router whose log says that a breaker turned, and only its metrics whose."""

    def __init__(self, url: str, nodes: Mapping[str, str]) -> None:
        self._url = url
        self._nodes = nodes  # the URL under which the router knows it -> node
        self._counted: Mapping[_Turn, int] = {}

    def opened(self) -> list[Mark]:
        """Every one since the last look; LOST when nobody can say whose it was."""
        try:
            page = fetch(self._url, "/metrics", _READ_S).text
        except Unreadable as error:
            detail = {"count": 1, "why": f"a circuit breaker turned, and whose is unread: {error}"}
            return [Mark(time.monotonic_ns(), "router", Kind.LOST, "router", detail=detail)]
        before, self._counted = self._counted, self._read(page)
        if any(self._counted.get(turn, 0) < count for turn, count in before.items()):
            before = dict[_Turn, int]()  # it was replaced, and counts from the beginning
        return [
            mark
            for (node, was), count in sorted(self._counted.items())
            if count > before.get((node, was), 0) and (mark := opened(node, was, _OPEN))
        ]

    def _read(self, page: str) -> dict[_Turn, int]:
        """How often each breaker opened."""
        found: dict[_Turn, int] = {}
        for sample in samples(page):
            if sample.name == _COUNTER and sample.labels.get("to") == _OPEN:
                url = sample.labels.get("worker", "")
                turn = (self._nodes.get(url, url), sample.labels.get("from", ""))
                found[turn] = int(sample.value)
        return found
