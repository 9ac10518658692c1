"""A listener that keeps what it hears, and wakes whoever waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from chaos.event import SETTLED, Kind, Mark
from tests.fakes.sse_server import SOON_S

POLL_S: Final = 0.01


def soon(true: Callable[[], bool]) -> bool:
    """Whether it comes true within SOON_S. Leaves the processor to a server in another thread."""
    deadline_s, pause = time.monotonic() + SOON_S, threading.Event()
    while not true():
        if time.monotonic() > deadline_s:
            return False
        pause.wait(POLL_S)
    return True


class Heard:
    """Every mark in order. Called by a reader thread, asked by a test."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self._news = threading.Condition()

    def __call__(self, mark: Mark) -> None:
        with self._news:
            self.marks.append(mark)
            self._news.notify_all()

    def of(self, about: str) -> list[Kind]:
        """The kinds of everything heard about this request; tokens once."""
        kinds = [mark.kind for mark in self.marks if mark.about == about]
        return [
            kind for index, kind in enumerate(kinds) if index == 0 or kind is not kinds[index - 1]
        ]

    def text(self, about: str) -> str:
        """The reply to this request, as far as it was heard."""
        return "".join(
            str(mark.detail["text"])
            for mark in self.marks
            if mark.about == about and mark.kind is Kind.TOKENS
        )

    def pieces(self, about: str) -> int:
        """How many pieces of the reply to this request were heard."""
        return sum(mark.about == about and mark.kind is Kind.TOKENS for mark in self.marks)

    def ending(self, about: str) -> Mark:
        """The one mark with which this request settled."""
        (mark,) = (mark for mark in self.marks if mark.about == about and mark.kind in SETTLED)
        return mark

    def wait_for(self, kind: Kind, about: str, times: int = 1) -> Mark:
        """The newest such mark, once that many came. AssertionError: they did not come soon."""

        def those() -> list[Mark]:
            return [mark for mark in self.marks if mark.kind is kind and mark.about == about]

        came = self._wait(lambda: len(those()) >= times)
        assert came, f"{times} x {kind.value} of {about} did not come in {SOON_S} s: {self.marks}"
        return those()[-1]

    def _wait(self, true: Callable[[], bool]) -> bool:
        with self._news:
            return self._news.wait_for(true, timeout=SOON_S)
