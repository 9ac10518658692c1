"""Lets the CTAs of a grid take turns in the interpreter, so that kernels that wait can be run.

All CTAs are resident, or as many as is said, and one gives way before each atomic, poll and
volatile load. This computes values; whether a launch can hang is not asked here (see
kernels/residency).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import greenlet
import numpy as np

from kernels import interpreter
from kernels.interpreter import Grid, Handle

TURNS_MAX = 400_000  # of all CTAs together: a launch that waits for ever ends with an error
_Greenlet: Any = greenlet.greenlet
_STOCK: Any = interpreter.stock.InterpreterBuilder
_GIVING_WAY = ("create_atomic_cas", "create_atomic_rmw", "create_masked_load", "create_atomic_poll")


class NeverEnded(Exception):
    """A launch took more turns than any of ours needs."""


@dataclass(slots=True)
class _Turns:
    """One grid under way."""

    hub: Any
    resident_max: int | None  # the next one starts when one of these has ended
    waiting: deque[tuple[tuple[int, int, int], Any]] = field(default_factory=deque[Any])

    def run(self, grid: Grid) -> None:
        coming = deque(
            (index, _Greenlet(grid.run_cta)) for index in interpreter.in_order(grid.size)
        )
        for _ in range(TURNS_MAX):
            while coming and len(self.waiting) != self.resident_max:
                self.waiting.append(coming.popleft())
            if not self.waiting:
                return
            index, cta = self.waiting.popleft()
            interpreter.enter(index)
            cta.switch()
            if not cta.dead:
                self.waiting.append((index, cta))
        for _, cta in self.waiting:
            if cta:
                cta.throw(greenlet.GreenletExit)
        raise NeverEnded(f"{grid.kernel} did not end within {TURNS_MAX} turns")

    def give_way(self) -> None:
        self.hub.switch()

    def create_atomic_rmw(self, *arguments: object) -> Handle:
        self.give_way()
        return _STOCK.create_atomic_rmw(interpreter.builder, *arguments)

    def create_atomic_cas(self, *arguments: object) -> Handle:
        self.give_way()
        return _STOCK.create_atomic_cas(interpreter.builder, *arguments)

    def create_masked_load(self, *arguments: object) -> Handle:
        if arguments[-1]:  # volatile
            self.give_way()
        return _STOCK.create_masked_load(interpreter.builder, *arguments)

    def create_atomic_poll(
        self, ptr: Handle, expected: Handle, timeout_ns: object, *_ordering: object
    ) -> Handle:
        """As the stock one, but each miss gives way. One with a timeout misses once."""
        matched = np.zeros(ptr.data.shape, np.bool_)
        mask = interpreter.TensorHandle(np.ones_like(matched), interpreter.language.int1)
        timed = interpreter.poll_timeout(timeout_ns) is not None
        while True:
            self.give_way()
            seen = _STOCK.create_masked_load(interpreter.builder, ptr, mask, None, None, True)
            matched |= seen.data == expected.data
            if matched.all() or timed:
                return interpreter.TensorHandle(matched, interpreter.language.int1)


@contextmanager
def taking_turns(resident_max: int | None = None) -> Generator[None]:
    """Inside the body, every launch in the interpreter lets its CTAs take turns, all of them or
    so many at once."""
    interpreter.install()
    builder = interpreter.builder

    def dispatch(grid: Grid) -> None:
        turns = _Turns(greenlet.getcurrent(), resident_max)
        own = cast("dict[str, Callable[..., object]]", vars(builder))
        before = {name: own.get(name) for name in _GIVING_WAY}
        for name in _GIVING_WAY:
            setattr(builder, name, getattr(turns, name))
        try:
            turns.run(grid)
        finally:
            for name, operation in before.items():
                if operation is None:
                    delattr(builder, name)
                else:
                    setattr(builder, name, operation)

    outside = interpreter.doors.dispatch
    interpreter.doors.dispatch = dispatch
    try:
        yield
    finally:
        interpreter.doors.dispatch = outside
