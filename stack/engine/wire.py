"""What goes over the two links of a pair: control lines and KV frames.

Control ("decode->prefill/bootstrap"): one JSON object a line, "op" names the message. The
decode opens the connection and sends hello, queued, announce, progress, ack, abort, ping, pong;
the prefill answers welcome, queued, failed, drained, ping, pong.

KV ("prefill->decode/kv"): one connection a room, so that a stalled transfer holds up nobody
else. It opens with the room (8 bytes, not counted as KV); then frames of a 20-byte header and
a payload: pages, and last the done signal.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

PREAMBLE = struct.Struct("!Q")  # room
HEADER = struct.Struct("!BxxxIIII")  # kind, ordinal, page, payload bytes, checksum
PAGE, DONE = 1, 2
PAYLOAD_BYTES_MAX = 1 << 26
LINE_BYTES_MAX = 1 << 24

Message = Mapping[str, Any]


class BadFrame(OSError):
    """A peer sent what the protocol does not know: the connection is of no use any more."""


@dataclass(frozen=True, slots=True)
class Frame:
    """`ordinal` counts the prompt's pages from 0; `page` is where the decode wants it."""

    kind: int
    ordinal: int
    page: int
    checksum: int
    payload: bytes

    def pack(self) -> bytes:
        head = HEADER.pack(self.kind, self.ordinal, self.page, len(self.payload), self.checksum)
        return head + self.payload


async def read_frame(reader: asyncio.StreamReader, begun: bytes = b"") -> Frame:
    """`begun` was read already. Raises IncompleteReadError at the end, BadFrame on nonsense."""
    head = begun + await reader.readexactly(HEADER.size - len(begun))
    kind, ordinal, page, size, checksum = HEADER.unpack(head)
    if kind not in (PAGE, DONE) or size > PAYLOAD_BYTES_MAX:
        raise BadFrame(f"expected a KV frame, got kind {kind} with {size} bytes")
    return Frame(kind, ordinal, page, checksum, await reader.readexactly(size))


def line(op: str, **fields: object) -> bytes:
    return json.dumps({"op": op, **fields}).encode() + b"\n"


async def read_line(reader: asyncio.StreamReader) -> Message | None:
    """None at the end of the connection. Raises BadFrame when it is not an object."""
    try:
        raw = await reader.readline()
    except ValueError as error:  # longer than the limit
        raise BadFrame(str(error)) from error
    if not raw.endswith(b"\n"):
        return None
    try:
        parsed: Any = json.loads(raw)
    except ValueError as error:
        raise BadFrame(f"expected a JSON line, got {raw[:80]!r}") from error
    if not isinstance(parsed, dict):
        raise BadFrame(f"expected a JSON object, got {raw[:80]!r}")
    return cast("dict[str, Any]", parsed)
