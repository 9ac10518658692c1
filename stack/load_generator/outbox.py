"""What the load generator has to say: marks gathered for a few milliseconds, then one line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from chaos.event import Json, Kind
from stack.load_generator import wire

GATHER_S: Final = 0.005
MARKS_MAX: Final = 500  # a line this long goes out at once
UNREAD_BYTES_MAX: Final = 256 << 20  # our reader is stuck: end rather than eat the machine


class Outbox:
    """Never blocks the loop: a stamp is taken at the event, the writing comes later."""

    def __init__(self, writer: asyncio.WriteTransport) -> None:
        self._writer = writer
        self._batch = 0
        self._marks: list[wire.WireMark] = []
        self._timer: asyncio.TimerHandle | None = None

    def open(self, batch: int) -> None:
        """Marks belong to this batch from now on; unsent ones of the former are dropped."""
        self._marks = []
        self._batch = batch

    def mark(self, kind: Kind, about: str, detail: Mapping[str, Json]) -> None:
        self._marks.append((time.monotonic_ns(), kind.value, about, detail))
        if len(self._marks) >= MARKS_MAX:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self.flush)

    def settled(self) -> None:
        self.flush()
        self._send({"batch": self._batch, "settled": True})

    def answer(self, command: int, value: object) -> None:
        self.flush()
        self._send({"answer": command, "value": value})

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._marks:
            marks, self._marks = self._marks, []
            self._send({"batch": self._batch, "marks": marks})

    def _send(self, message: Mapping[str, object]) -> None:
        if self._writer.get_write_buffer_size() > UNREAD_BYTES_MAX:
            # Of all exceptions this one ends the loop, also from a timer's callback.
            raise SystemExit(f"{UNREAD_BYTES_MAX} bytes of marks wait for a reader")
        self._writer.write(wire.line(message))
