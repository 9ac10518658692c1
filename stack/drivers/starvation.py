"""How long an engine's process stood in the run queue: while it waits for a core, it is not slow.

A verdict about a stack that the machine did not let run accuses the wrong one. What is counted is
starvation without a pause: the process got next to nothing for so long at a stretch, as if
somebody had stopped it. Sharing a core only makes it slower, and the control was slower as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from chaos.contracts import Listener
from chaos.event import Kind, Mark
from stack.process_table import PROC, ProcessId

_TICK_S: Final = 0.1
_STARVED: Final = 0.8  # of a tick spent in the queue
_WORTH_TELLING_S: Final = 0.3
_NS_PER_S: Final = 1e9
Engines = Mapping[str, Callable[[], Sequence[ProcessId]]]


def queued_s(process: ProcessId) -> float | None:
    """Seconds this process's main thread has waited for a core since it began; None: it is gone.

    The second number of /proc/PID/schedstat (the kernel's Documentation/scheduler/sched-stats).
    """
    try:
        return int((PROC / str(process.pid) / "schedstat").read_text().split()[1]) / _NS_PER_S
    except (OSError, IndexError, ValueError):
        return None


class Starvation:
    """One process's wait, tick by tick; `starved_s` is the present stretch without a pause."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        self.starved_s = 0.0

    def look(self, now_s: float, waited_s: float) -> None:
        before, self._before = self._before, (now_s, waited_s)
        if before is None:
            return
        passed_s = now_s - before[0]
        if waited_s - before[1] >= _STARVED * passed_s:
            self.starved_s += passed_s
        else:
            self.starved_s = 0.0


@contextmanager
def watching(engines: Engines, listener: Listener) -> Generator[None]:
    """While inside, tell each stretch of starvation of each node's engine in a LAG mark."""
    closing = threading.Event()
    thread = threading.Thread(
        target=_watch, args=(engines, listener, closing), name="starvation", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        closing.set()
        thread.join(1.0)


def _watch(engines: Engines, listener: Listener, closing: threading.Event) -> None:
    watched: dict[ProcessId, tuple[str, Starvation]] = {}
    tick = 0
    while not closing.wait(_TICK_S):
        if tick % 20 == 0:  # processes come and go seldom, and a look at all of /proc costs more
            found = {one: node for node, look in engines.items() for one in look()}
            watched = {one: watched.get(one, (node, Starvation())) for one, node in found.items()}
        tick += 1
        for one, (node, starvation) in watched.items():
            waited_s = queued_s(one)
            if waited_s is None:
                continue
            starvation.look(time.monotonic(), waited_s)
            if starvation.starved_s >= _WORTH_TELLING_S:
                detail = {"lag_s": round(starvation.starved_s, 3)}
                listener(Mark(time.monotonic_ns(), node, Kind.LAG, f"{node}/engine", detail=detail))
