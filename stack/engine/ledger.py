"""Where every open request stands and since when: the source of stage marks and gauges."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from chaos.event import Json, Kind
from chaos.stage import Stage
from stack.engine.trace import Trace


@dataclass(frozen=True, slots=True)
class Standing:
    request_id: str
    stage: Stage
    since_s: float
    opened_s: float


class Ledger:
    """Written by the step thread and the IO thread; `attempt` is the bootstrap room."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._lock = threading.Lock()
        self._open: dict[int, Standing] = {}
        self.acts: Counter[str] = Counter()  # how often each guard acted
        self.counts: Counter[str] = Counter()  # what else is worth counting

    def enter(
        self, room: int, request_id: str, stage: Stage, detail: Mapping[str, Json] | None = None
    ) -> None:
        now = time.monotonic()
        with self._lock:
            before = self._open.get(room)
            opened = before.opened_s if before else now
            self._open[room] = Standing(request_id, stage, now, opened)
        self._trace.mark(Kind.STAGE, request_id, stage, room, detail)

    def close(self, room: int) -> None:
        with self._lock:
            self._open.pop(room, None)

    def guarded(self, guard: str, about: str, why: str, room: int | None = None) -> None:
        """A guard acted: its own event carries the request's id."""
        self.acts[guard] += 1
        self._trace.mark(Kind.GUARD, about, None, room, {"guard": guard, "why": why})

    def flush(self) -> None:
        """Called again and again: a mark that waits, or was lost, is told without a next one."""
        self._trace.flush()

    def census(self) -> dict[str, int]:
        """Open requests by stage."""
        with self._lock:
            return dict(Counter(s.stage.value for s in self._open.values()))

    def oldest_s(self) -> dict[str, float]:
        """The longest that anybody now stands in each stage."""
        now = time.monotonic()
        ages: dict[str, float] = {}
        with self._lock:
            for standing in self._open.values():
                age = now - standing.since_s
                ages[standing.stage.value] = max(age, ages.get(standing.stage.value, 0.0))
        return ages
