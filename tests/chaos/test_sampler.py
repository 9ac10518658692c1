"""Goal: a slow probe costs only itself. Method: probes that are slow, unreadable or broken."""

from __future__ import annotations

from chaos.clock import MonotonicClock
from chaos.contracts import Reading
from chaos.event import Kind
from chaos.recorder import Recorder
from chaos.sampler import read_all
from tests.chaos.fake_stack import FakeProbe, unreadable


def test_a_probe_has_the_whole_bound_to_answer() -> None:
    recorder = Recorder(MonotonicClock())
    read = read_all([FakeProbe("a/x", 4.0, takes_s=0.1)], recorder, 10.0)
    assert read == {"a/x": Reading("a/x", 4.0)}


def test_a_probe_beyond_the_bound_is_unreadable_and_the_others_are_read() -> None:
    recorder = Recorder(MonotonicClock())
    probes = [FakeProbe("slow/x", takes_s=20.0), FakeProbe("a/x", 4.0)]
    assert read_all(probes, recorder, 0.2) == {"a/x": Reading("a/x", 4.0)}
    told = {(event.kind, event.about) for event in recorder.finish()}
    assert told == {(Kind.READING, "a/x"), (Kind.UNREADABLE, "slow/x")}


def test_what_comes_after_the_bound_is_not_written_down() -> None:
    recorder = Recorder(MonotonicClock())
    late = FakeProbe("slow/x", takes_s=0.15)
    assert read_all([late], recorder, 0.05) == {}
    assert read_all([FakeProbe("a/x", takes_s=0.4)], recorder, 5.0)  # longer than the late one
    assert "slow/x" not in [e.about for e in recorder.finish() if e.kind is Kind.READING]


def test_a_probe_that_got_no_answer_is_evidence_and_one_that_breaks_is_our_failure() -> None:
    recorder = Recorder(MonotonicClock())
    broken = FakeProbe("b/x", fails=KeyError("bug"))
    assert read_all([unreadable("a/x"), broken], recorder, 5.0) == {}
    told = {(event.kind, event.about) for event in recorder.finish()}
    assert told == {(Kind.UNREADABLE, "a/x"), (Kind.TOOL_ERROR, "b/x")}
