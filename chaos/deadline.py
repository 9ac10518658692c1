"""Owns bounded calls: somebody else's code runs in a daemon thread, and we wait only so long."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Overdue(Exception):
    """A call did not return within its bound. It was left behind."""


class _Call(Generic[T]):
    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self.returned = Event()
        self.value: list[T] = []
        self.error: BaseException | None = None

    def __call__(self) -> None:
        try:
            self.value.append(self._call())
        except BaseException as error:  # noqa: BLE001 - a thread has nobody to raise to
            self.error = error
        finally:
            self.returned.set()


def within(bound_s: float, what: str, call: Callable[[], T]) -> T:
    """Call it, and wait at most this long.

    Raises what the call raised, or Overdue. The thread of an overdue call stays: nothing can
    end it from outside, and waiting for it is exactly what must not happen.
    """
    running = _Call(call)
    Thread(target=running, name=what, daemon=True).start()
    if not running.returned.wait(bound_s):
        raise Overdue(f"{what} did not return within {bound_s:g} s")
    if running.error is not None:
        raise running.error
    return running.value[0]
