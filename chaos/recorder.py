"""The only writer of history. Safe to call from many threads; marks may arrive out of order."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from chaos.clock import Clock
from chaos.contracts import Listener
from chaos.event import Event, Json, Kind, Mark
from chaos.history import ordered
from chaos.stage import Stage


class Recorder:
    """Accepts marks until it is finished; later ones, and those from before it began, are strays.

    A live stack serves many experiments: a mark that was made before this one began belongs to
    the one before, whose requests may have had the same names.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._born_ns = clock.now_ns()
        self._lock = threading.Lock()
        self._marks: list[Mark] = []
        self._subscribers: tuple[Listener, ...] = ()
        self._finished = False

    def now_ns(self) -> int:
        return self._clock.now_ns()

    def accept(self, mark: Mark) -> None:
        """Take somebody's mark, then tell the subscribers, outside the lock."""
        with self._lock:
            if self._finished or mark.at_ns < self._born_ns:
                return
            self._marks.append(mark)
            subscribers = self._subscribers
        for subscriber in subscribers:
            subscriber(mark)

    def write(
        self,
        actor: str,
        kind: Kind,
        about: str,
        detail: Mapping[str, Json] | None = None,
        stage: Stage | None = None,
    ) -> None:
        """Take our own mark, stamped now."""
        self.accept(Mark(self._clock.now_ns(), actor, kind, about, stage, None, dict(detail or {})))

    def tool_error(self, actor: str, about: str, why: object) -> None:
        """Our own code failed: nothing after this can be trusted."""
        self.write(actor, Kind.TOOL_ERROR, about, {"why": str(why)})

    @contextmanager
    def subscribed(self, listener: Listener) -> Generator[None]:
        """While inside, the listener sees each mark as it arrives. It must be quick."""
        with self._lock:
            self._subscribers = (*self._subscribers, listener)
        try:
            yield
        finally:
            with self._lock:
                self._subscribers = tuple(s for s in self._subscribers if s is not listener)

    def since(self, index: int) -> Sequence[Mark]:
        """The marks from the index-th on, in the order of their arrival."""
        with self._lock:
            return self._marks[index:]

    def finish(self) -> tuple[Event, ...]:
        """Close the book: sort by time, number, and accept nothing more."""
        with self._lock:
            self._finished = True
        return ordered(self._marks)
