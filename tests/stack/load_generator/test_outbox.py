"""What the load generator says, and when it gives up saying it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from chaos.event import Kind
from stack.load_generator import outbox as outbox_module
from stack.load_generator.outbox import MARKS_MAX, Outbox
from tests.fakes.sse_server import SOON_S


class Pipe(asyncio.WriteTransport):
    """Keeps what is written; `unread` bytes lie in it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []
        self.unread = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.lines += [json.loads(line) for line in bytes(data).splitlines()]

    def get_write_buffer_size(self) -> int:
        return self.unread


def say(scene: Callable[[Outbox, Pipe], None], linger_s: float = 0.0) -> Pipe:
    """Play a scene inside a loop; without lingering, nothing gathered is flushed by itself."""
    pipe = Pipe()

    async def play() -> None:
        scene(Outbox(pipe), pipe)
        if linger_s:
            await asyncio.sleep(linger_s)

    asyncio.run(play())
    return pipe


def mark(outbox: Outbox, times: int = 1) -> None:
    for index in range(times):
        outbox.mark(Kind.SENT, f"r{index}", {})


def test_marks_are_gathered_into_one_line() -> None:
    def scene(outbox: Outbox, _pipe: Pipe) -> None:
        outbox.open(3)
        mark(outbox, 5)
        outbox.flush()

    (line,) = say(scene).lines
    assert line["batch"] == 3
    assert [row[2] for row in line["marks"]] == ["r0", "r1", "r2", "r3", "r4"]


def test_a_long_line_goes_out_at_once() -> None:
    pipe = say(lambda outbox, _pipe: mark(outbox, MARKS_MAX + 1))
    assert [len(line["marks"]) for line in pipe.lines] == [MARKS_MAX]


def test_gathered_marks_go_out_by_themselves() -> None:
    pipe = say(lambda outbox, _pipe: mark(outbox), linger_s=0.2)
    assert [len(line["marks"]) for line in pipe.lines] == [1]


def test_what_was_gathered_comes_before_the_news_that_all_settled() -> None:
    def scene(outbox: Outbox, _pipe: Pipe) -> None:
        mark(outbox)
        outbox.settled()

    assert [sorted(line) for line in say(scene).lines] == [
        ["batch", "marks"],
        ["batch", "settled"],
    ]


def test_marks_of_the_batch_before_are_not_said_in_the_name_of_the_next() -> None:
    def scene(outbox: Outbox, _pipe: Pipe) -> None:
        outbox.open(1)
        mark(outbox)
        outbox.open(2)
        outbox.settled()

    assert say(scene).lines == [{"batch": 2, "settled": True}]


def test_a_reader_that_is_stuck_ends_it() -> None:
    def scene(outbox: Outbox, pipe: Pipe) -> None:
        pipe.unread = outbox_module.UNREAD_BYTES_MAX + 1
        mark(outbox)
        # Raised by the timer that flushes, where any other exception would only be logged.

    with pytest.raises(SystemExit, match="wait for a reader"):
        say(scene, linger_s=SOON_S)
