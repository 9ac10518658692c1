"""Owns when Python looks for garbage: not while a history is read or judged."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Without garbage collection: reading and judging make no cycles, and walking through a million
    events again and again, to find none, took as long as judging them.

    What was made meanwhile would be walked through once more as soon as collecting begins again.
    Freezing and unfreezing makes it old instead, which costs nothing.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if not gc.get_freeze_count():  # what somebody froze for himself stays frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
