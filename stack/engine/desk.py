"""The engine's end of the channel to its front: orders in, tokens and verdicts out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from stack.engine.ending import Ending
from stack.engine.order import Failure

CHANNEL_LINE_BYTES_MAX = 1 << 26


class Desk:
    """JSON lines over a socket pair. Sending never waits: the front reads all the time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> dict[str, Any] | None:
        """None when the front is gone."""
        try:
            raw = await self._reader.readline()
        except OSError:  # a killed front resets the channel
            return None
        return json.loads(raw) if raw.endswith(b"\n") else None

    def send(self, op: str, **fields: object) -> None:
        self._writer.write(json.dumps({"op": op, **fields}).encode() + b"\n")

    def tokens(self, room: int, tokens: list[int], ending: Ending | None) -> None:
        end = [ending.reason, ending.hidden] if ending else None
        self.send("tokens", room=room, tokens=tokens, end=end)

    def begun(self, room: int) -> None:
        """A prefill's: its decode has pages for it, and from now on it runs or waits here."""
        self.send("begun", room=room)

    def handed_over(self, room: int) -> None:
        self.send("handed_over", room=room)

    def failed(self, room: int, failure: Failure) -> None:
        self.send(
            "failed",
            room=room,
            code=failure.code,
            message=failure.message,
            status=failure.status,
        )
