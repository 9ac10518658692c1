"""The lines between the tests' process and the load generator: one JSON object each.

Down: {"command", "id", ...}. Up: {"answer", "value"}, {"batch", "marks": [...]} and
{"batch", "settled": true}. A mark is [at_ns, kind, about, detail]: many go in one line,
because a line per token would cost more than the token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from chaos.contracts import Request
from chaos.event import Json, Mark
from chaos.mark_json import KINDS

CLIENT: Final = "client"

WireMark = tuple[int, str, str, Mapping[str, Json]]


def line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def message(text: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(text)
    return value


def requests_out(requests: Sequence[Request]) -> list[dict[str, object]]:
    return [asdict(request) for request in requests]


def requests_in(rows: Iterable[Mapping[str, Any]]) -> list[Request]:
    told = [Request(**row) for row in rows]
    return [replace(one, stop=tuple(one.stop)) for one in told]  # JSON made a list of it


def marks_in(rows: Iterable[WireMark]) -> list[Mark]:
    """The marks of one line, in the order in which they were made."""
    return [
        Mark(at_ns, CLIENT, KINDS[kind], about, detail=detail)
        for at_ns, kind, about, detail in rows
    ]
