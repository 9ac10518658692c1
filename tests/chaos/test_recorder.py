"""Goal: no mark is lost or doubled, and order is time. Method: many threads, stray marks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from chaos.event import Kind, Mark
from chaos.recorder import Recorder


class HandClock:
    def __init__(self, at_ns: int = 0) -> None:
        self.at_ns = at_ns

    def now_ns(self) -> int:
        return self.at_ns


def mark(at_ns: int, about: str) -> Mark:
    return Mark(at_ns, "client", Kind.SENT, about)


def test_marks_that_arrive_late_take_their_place_in_time() -> None:
    recorder = Recorder(HandClock())
    for one in (mark(3, "c"), mark(1, "a"), mark(2, "b"), mark(2, "b2")):
        recorder.accept(one)
    events = recorder.finish()
    assert [(one.seq, one.about) for one in events] == [(0, "a"), (1, "b"), (2, "b2"), (3, "c")]


def test_marks_from_before_it_began_and_after_it_ended_are_strays() -> None:
    recorder = Recorder(HandClock(10))
    recorder.accept(mark(9, "of the experiment before"))
    recorder.accept(mark(10, "mine"))
    assert [one.about for one in recorder.finish()] == ["mine"]
    recorder.accept(mark(11, "late"))
    assert [one.about for one in recorder.finish()] == ["mine"]


def test_many_threads_lose_nothing() -> None:
    recorder = Recorder(HandClock())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(recorder.accept, [mark(i, str(i)) for i in range(2000)]))
    assert [one.about for one in recorder.finish()] == [str(i) for i in range(2000)]


def test_a_subscriber_hears_each_mark_while_it_is_subscribed() -> None:
    recorder = Recorder(HandClock())
    heard: list[str] = []
    with recorder.subscribed(lambda one: heard.append(one.about)):
        recorder.accept(mark(1, "in"))
    recorder.accept(mark(2, "out"))
    assert heard == ["in"]


def test_a_subscriber_may_write_itself() -> None:
    recorder = Recorder(HandClock())

    def answer(one: Mark) -> None:
        if one.about == "question":
            recorder.write("run", Kind.PHASE, "answer")

    with recorder.subscribed(answer):
        recorder.accept(mark(0, "question"))
    assert [one.about for one in recorder.finish()] == ["question", "answer"]


def test_since_gives_what_came_after() -> None:
    recorder = Recorder(HandClock())
    recorder.accept(mark(2, "first"))
    recorder.accept(mark(1, "second"))
    assert [one.about for one in recorder.since(1)] == ["second"]
    assert recorder.since(2) == []


@pytest.mark.parametrize("why", [KeyError("bug"), "text"])
def test_our_own_failure_is_written_down_with_its_reason(why: object) -> None:
    recorder = Recorder(HandClock())
    recorder.tool_error("run", "x", why)
    (event,) = recorder.finish()
    assert (event.kind, event.detail["why"]) == (Kind.TOOL_ERROR, str(why))
