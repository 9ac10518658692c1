"""Goal: a call that hangs does not hang us. Method: one that waits for an event nobody sets."""

from __future__ import annotations

from threading import Event

import pytest

from chaos.deadline import Overdue, within


def test_a_call_that_returns_gives_its_value() -> None:
    assert within(5.0, "answer", lambda: 42) == 42


def test_a_call_that_raises_raises_here() -> None:
    def fails() -> None:
        raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        within(5.0, "answer", fails)


def test_a_call_that_hangs_is_overdue_and_named() -> None:
    hangs = Event()
    with pytest.raises(Overdue, match=r"answer did not return within 0\.05 s"):
        within(0.05, "answer", hangs.wait)
    hangs.set()
