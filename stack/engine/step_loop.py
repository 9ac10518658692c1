"""The step thread's loop: take what others ask, then compute one step."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue

from stack.engine.outlets import Scheduler

IDLE_S = 0.1  # an idle loop turns this often, so that its counter shows that it lives
HELD_S = 0.002  # work there is, but all of it is held: look again soon


class StepLoop:
    """Owns the scheduler: other threads change it only through `call`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.turns = 0
        self._running = True

    def call(self, deed: Callable[[], None]) -> None:
        """From any thread: have this done between two steps."""
        self._inbox.put(deed)

    def stop(self) -> None:
        self.call(self._stop)

    def _stop(self) -> None:
        self._running = False

    def run(self) -> None:
        wait_s = 0.0
        while self._running:
            self._take(wait_s)
            worked = self._scheduler.step()
            self.turns += 1
            wait_s = 0.0 if worked else HELD_S if self._scheduler.pending else IDLE_S

    def _take(self, wait_s: float) -> None:
        try:
            deed = self._inbox.get(timeout=wait_s) if wait_s else self._inbox.get_nowait()
            while True:
                deed()
                deed = self._inbox.get_nowait()
        except Empty:
            return
