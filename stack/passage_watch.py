"""Watches a bent link, so that a stall is proven although its connection did not survive it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

from stack.bounded_toxiproxy import ToxiproxyRefused, ToxiproxySilent
from stack.link_traffic import Traffic
from stack.toxic_proof import Passage

LOOK_EVERY_S = 0.2  # a look costs 5 ms; the shortest guards take 0.3 s to end a connection
STOP_S = 5.0  # a look is bounded by its calls


class PassageWatch:
    """What passed since the toxic came on, and the most that was ever seen held.

    The kernel forgets a socket that is closed, and what the proxy has not read by then appears
    in no metrics. Only `bandwidth` leaves bytes unread, so only for it is the link looked at all
    the time; the other toxics need no more than the looks that somebody asks for.
    """

    def __init__(self, look: Callable[[], Traffic | None], stream: str) -> None:
        """Takes the look with which all later ones are compared."""
        self._look = look
        self._stream = stream
        self._before = look()
        self._height: Passage | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin_again(self) -> None:
        """Compare with the link as it is now."""
        self._before = self._look()

    def keep_looking(self) -> None:
        """Until the end of the block, whether or not somebody reads."""
        if self._before is not None:
            self._thread = threading.Thread(target=self._run, name="passage watch", daemon=True)
            self._thread.start()

    def read(self) -> Passage | None:
        """None where nobody can know. Raises what the server's calls raise."""
        now = self._look()
        if self._before is None or now is None:
            return None
        with self._lock:
            passage = Passage.between(self._before, now, self._stream).or_more(self._height)
            self._height = passage
        return passage

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            try:
                self.read()
            except (ToxiproxyRefused, ToxiproxySilent):  # a busy server is looked at again
                continue
