"""Requests of a test, and waiting for their marks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from chaos.contracts import Request
from chaos.event import SETTLED, Kind, Mark
from stack.embedded_stack import EmbeddedStack

WAIT_S = 10.0


class Marks:
    """Every mark of clients and nodes, in the order in which they came."""

    def __init__(self) -> None:
        self.seen: list[Mark] = []
        self._came = threading.Condition()

    def hear(self, mark: Mark) -> None:
        with self._came:
            self.seen.append(mark)
            self._came.notify_all()

    def wait(self, what: str, wanted: Callable[[Mark], bool], within_s: float = WAIT_S) -> Mark:
        """The first mark like this, when it comes."""
        with self._came:
            found = self._came.wait_for(lambda: any(map(wanted, self.seen)), within_s)
            assert found, f"{what}: not within {within_s:g} s; {self.told()}"
            return next(filter(wanted, self.seen))

    def end(self, request_id: str, within_s: float = WAIT_S) -> Mark:
        return self.wait(
            f"the end of {request_id}",
            lambda mark: mark.about == request_id and mark.kind in SETTLED,
            within_s,
        )

    def told(self) -> str:
        return "; ".join(f"{m.actor} {m.kind.value} {m.about} {m.stage}" for m in self.seen[-40:])


def request(request_id: str, tokens: int = 8) -> Request:
    return Request(request_id, 0.0, "the quick brown fox " * 8, tokens)


@contextmanager
def asking(stack: EmbeddedStack, *requests: Request) -> Generator[Marks]:
    """While inside, these requests run and every mark is heard."""
    marks = Marks()
    with stack.observe(marks.hear):
        stack.clients.start(requests, marks.hear)
        try:
            yield marks
        finally:
            stack.clients.stop(5.0)


def answers(stack: EmbeddedStack, request_id: str, within_s: float = WAIT_S) -> bool:
    """Whether one request on the idle stack finishes."""
    with asking(stack, request(request_id)) as marks:
        return marks.end(request_id, within_s).kind is Kind.FINISHED
