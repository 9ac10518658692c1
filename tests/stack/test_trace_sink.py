"""Marks over the socket: in order, from several nodes, and never lost in silence."""

from __future__ import annotations

import json
import queue
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.event import Kind, Mark
from chaos.stage import Stage
from stack import trace_sink
from stack.engine.trace import Trace
from stack.trace_sink import TraceSink, parse

WAIT_S = 5.0
MARK = {
    "at_ns": 7,
    "actor": "decode-0",
    "kind": "stage",
    "about": "r1",
    "stage": "transfer",
    "attempt": 12,
    "detail": {"bytes": 3, "deep": [1]},
}


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[TraceSink]:
    made = TraceSink(tmp_path / "trace.sock")
    yield made
    made.close()


def node(sink: TraceSink) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.connect(str(sink.path))
    return caller


def line(**changes: object) -> bytes:
    return json.dumps({**MARK, **changes}).encode() + b"\n"


def test_a_mark_arrives_as_it_was_sent(sink: TraceSink) -> None:
    heard: queue.Queue[Mark] = queue.Queue()
    with sink.observe(heard.put), node(sink) as caller:
        caller.sendall(line())
        mark = heard.get(timeout=WAIT_S)
    assert (mark.at_ns, mark.actor, mark.kind, mark.about) == (7, "decode-0", Kind.STAGE, "r1")
    assert mark.stage is Stage.TRANSFER
    assert mark.attempt == 12
    assert mark.detail == {"bytes": 3, "deep": "[1]"}


def test_marks_of_one_node_keep_their_order_however_they_are_cut(sink: TraceSink) -> None:
    heard: queue.Queue[Mark] = queue.Queue()
    data = b"".join(line(at_ns=number) for number in range(200))
    with sink.observe(heard.put), node(sink) as caller:
        for start in range(0, len(data), 101):
            caller.sendall(data[start : start + 101])
        seen = [heard.get(timeout=WAIT_S).at_ns for _ in range(200)]
    assert seen == list(range(200))


def test_a_line_that_is_no_mark_becomes_a_lost_mark_and_the_next_one_is_read(
    sink: TraceSink,
) -> None:
    heard: queue.Queue[Mark] = queue.Queue()
    with sink.observe(heard.put), node(sink) as caller:
        caller.sendall(b'{"at_ns": "soon"}\n' + line(kind="no such kind") + line())
        kinds = [heard.get(timeout=WAIT_S).kind for _ in range(3)]
    assert kinds == [Kind.LOST, Kind.LOST, Kind.STAGE]


def test_a_node_that_dies_inside_a_mark_leaves_a_lost_mark(sink: TraceSink) -> None:
    heard: queue.Queue[Mark] = queue.Queue()
    with sink.observe(heard.put):
        with node(sink) as caller:
            caller.sendall(line()[:20])
        assert heard.get(timeout=WAIT_S).kind is Kind.LOST


def test_nobody_is_told_anything_after_leaving(sink: TraceSink) -> None:
    before: queue.Queue[Mark] = queue.Queue()
    after: queue.Queue[Mark] = queue.Queue()
    with node(sink) as caller:
        with sink.observe(before.put):
            caller.sendall(line())
            before.get(timeout=WAIT_S)
        with sink.observe(after.put):
            caller.sendall(line())
            after.get(timeout=WAIT_S)
    assert before.empty()


def test_a_listener_that_raises_is_expelled_and_the_others_learn_of_it(sink: TraceSink) -> None:
    heard: queue.Queue[Mark] = queue.Queue()

    def broken(_: Mark) -> None:
        raise RuntimeError("full")

    with sink.observe(broken), sink.observe(heard.put), node(sink) as caller:
        caller.sendall(line())
        kinds = {heard.get(timeout=WAIT_S).kind for _ in range(2)}
        assert kinds == {Kind.TOOL_ERROR, Kind.STAGE}
        caller.sendall(line())
        assert heard.get(timeout=WAIT_S).kind is Kind.STAGE


def test_a_sink_that_breaks_says_so(sink: TraceSink, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: bytes) -> Mark:
        raise ZeroDivisionError

    monkeypatch.setattr(trace_sink, "parse", broken)
    heard: queue.Queue[Mark] = queue.Queue()
    with sink.observe(heard.put), node(sink) as caller:
        caller.sendall(line())
        mark = heard.get(timeout=WAIT_S)
    assert mark.kind is Kind.TOOL_ERROR
    assert "ZeroDivisionError" in str(mark.detail["why"])
    later: queue.Queue[Mark] = queue.Queue()
    with sink.observe(later.put):
        assert later.get(timeout=WAIT_S).kind is Kind.TOOL_ERROR


def test_a_mark_that_was_lost_is_told_of_by_the_next_flush(tmp_path: Path) -> None:
    """A worker that is killed after its last mark has no next one to tell of the hole."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "door"))
        door.listen()
        trace = Trace(str(tmp_path / "door"), "decode-0")
        reader, _ = door.accept()
        with reader:
            sent = 0
            while not trace.lost:  # nobody reads: sooner or later the socket is full
                trace.mark(Kind.STAGE, f"r{sent}", Stage.DECODE)
                sent += 1
            reader.settimeout(WAIT_S)
            marks = b""
            while b"lost" not in marks:
                marks += reader.recv(1 << 16)
                trace.flush()
        assert marks.count(b"\n") == sent  # all but the lost one, and the mark that tells of it
        trace.close()


def test_closing_removes_the_socket_s_file(tmp_path: Path) -> None:
    sink = TraceSink(tmp_path / "trace.sock")
    sink.close()
    assert not sink.path.exists()


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"null", b"3", b"\xff", b'{"at_ns": null}', b'{"at_ns": 1e999}']
)
def test_anything_else_parses_to_a_lost_mark(text: bytes) -> None:
    assert parse(text).kind is Kind.LOST
