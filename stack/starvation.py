"""How long a node's threads stood in the run queue: while one waits for a core, it is not slow.

A verdict about a stack that the machine did not let run accuses the wrong one. What is counted is
starvation without a pause: a thread that had work got next to nothing for so long at a stretch, as
if somebody had stopped it. Sharing a core only makes it slower, and the control was slower as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from chaos.contracts import Listener
from chaos.event import Kind, Mark
from stack.process_table import PROC, ProcessId

_TICK_S: Final = 0.1
_STARVED: Final = 0.8  # of a tick spent in the queue
_WORTH_TELLING_S: Final = 0.3
_NS_PER_S: Final = 1e9
Processes = Mapping[str, Callable[[], Sequence[ProcessId]]]
Thread = tuple[ProcessId, int]  # and its number


def threads_of(process: ProcessId) -> list[Thread]:
    """Empty: it is gone."""
    try:
        return [(process, int(one.name)) for one in (PROC / str(process.pid) / "task").iterdir()]
    except OSError:
        return []


def queued_s(thread: Thread) -> float | None:
    """Seconds this thread has waited for a core since it began; None: it is gone.

    The second number of schedstat (the kernel's Documentation/scheduler/sched-stats).
    """
    process, number = thread
    path = PROC / str(process.pid) / "task" / str(number) / "schedstat"
    try:
        return int(path.read_text().split()[1]) / _NS_PER_S
    except (OSError, IndexError, ValueError):
        return None


class Starvation:
    """One thread's wait, tick by tick; `starved_s` is the present stretch without a pause."""

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
def watching(processes: Processes, listener: Listener) -> Generator[None]:
    """While inside, tell each stretch of starvation of each node's threads in a LAG mark."""
    closing = threading.Event()
    thread = threading.Thread(
        target=_watch, args=(processes, listener, closing), name="starvation", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        closing.set()
        thread.join(1.0)


def _watch(processes: Processes, listener: Listener, closing: threading.Event) -> None:
    watched: dict[Thread, tuple[str, Starvation]] = {}
    tick = 0
    while not closing.wait(_TICK_S):
        if tick % 20 == 0:  # they come and go seldom, and a look at all of /proc costs more
            found = {one: node for node, look in processes.items() for one in _threads(look())}
            watched = {one: watched.get(one, (node, Starvation())) for one, node in found.items()}
        tick += 1
        for node, starved_s in _starved(watched).items():
            detail = {"lag_s": round(starved_s, 3)}
            listener(Mark(time.monotonic_ns(), node, Kind.LAG, node, detail=detail))


def _threads(processes: Sequence[ProcessId]) -> Iterator[Thread]:
    for one in processes:
        yield from threads_of(one)


def _starved(watched: Mapping[Thread, tuple[str, Starvation]]) -> dict[str, float]:
    """Of each node the longest stretch that is worth telling."""
    worst: dict[str, float] = {}
    for one, (node, starvation) in watched.items():
        waited_s = queued_s(one)
        if waited_s is None:
            continue
        starvation.look(time.monotonic(), waited_s)
        if starvation.starved_s >= _WORTH_TELLING_S:
            worst[node] = max(worst.get(node, 0.0), starvation.starved_s)
    return worst
