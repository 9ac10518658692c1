"""Goal: only a stretch in which a process got no core at all counts as the machine's stall."""

from __future__ import annotations

import os
from collections import Counter

import pytest

import stack.starvation
from chaos.event import Kind, Mark
from stack.process_table import ProcessId, identify
from stack.starvation import Starvation, Thread, queued_s, threads_of, watching
from tests.stack.until import until


def looks(*waits_s: float) -> float:
    one, total_s = Starvation(), 0.0
    for tick, wait_s in enumerate(waits_s):
        total_s += wait_s
        one.look(tick * 0.1, total_s)
    return one.starved_s


def test_ticks_without_a_core_add_up() -> None:
    assert looks(0, 0.1, 0.09, 0.1) == pytest.approx(0.3)


def test_half_a_core_is_slow_and_no_starvation() -> None:
    assert looks(0, 0.05, 0.05, 0.05) == 0.0


def test_one_tick_with_a_core_ends_the_stretch() -> None:
    assert looks(0, 0.1, 0.1, 0.0, 0.1) == pytest.approx(0.1)


def test_each_living_thread_tells_its_wait_and_a_dead_process_has_none() -> None:
    me = identify(os.getpid())
    assert me is not None
    waits_s = [queued_s(one) for one in threads_of(me)]
    assert waits_s
    assert all(one is not None and one >= 0 for one in waits_s)
    gone = ProcessId(2**22 + 1, 0)
    assert (threads_of(gone), queued_s((gone, gone.pid))) == ([], None)


def test_a_starved_engine_is_told_of_with_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    me = identify(os.getpid())
    assert me is not None
    waits: Counter[Thread] = Counter()

    def waits_always(one: Thread) -> float:
        waits[one] += 1
        return float(waits[one])

    monkeypatch.setattr(stack.starvation, "queued_s", waits_always)
    told: list[Mark] = []
    with watching({"decode-0": lambda: [me]}, told.append):
        until("a stretch is told", lambda: told)
    assert (told[0].kind, told[0].actor, told[0].about) == (Kind.LAG, "decode-0", "decode-0")
    assert float(str(told[0].detail["lag_s"])) >= 0.3


def test_an_engine_that_runs_is_not_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    me = identify(os.getpid())
    assert me is not None
    asked: list[Thread] = []

    def never_waits(one: Thread) -> float:
        asked.append(one)
        return 0.0

    monkeypatch.setattr(stack.starvation, "queued_s", never_waits)
    told: list[Mark] = []
    with watching({"decode-0": lambda: [me]}, told.append):
        until("it was looked at", lambda: len(asked) > 6)
    assert told == []
