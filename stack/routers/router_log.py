"""From a line of a router's log to a guard's mark, when the line names the request."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from chaos.event import Kind, Mark
from stack.routers.breaker import TRANSITION, opened

STREAM_FAILURE: Final = "Stream ended by the worker"
ERROR_REPLY: Final = "request failed with server error"
NO_WORKER: Final = "No available workers for model"  # smg says so, and then answers 503
_GUARDS: Final = {
    STREAM_FAILURE: "router_stream_failure",
    ERROR_REPLY: "router_error_reply",
    NO_WORKER: "router_error_reply",
}
_SPAN: Final = re.compile(
    r"http_request\{method=(?P<method>\S+) (?:path|uri)=(?P<path>\S+) .*?"
    r'request_id="(?P<id>[^"]*)"[^}]*\}'
)
_SERVED: Final = ("/v1/", "/generate")  # not the router's own pages: those we ask ourselves


def mark(line: str) -> Mark | None:
    """A GUARD mark about the request, stamped now: the log's own clock has whole seconds."""
    guard = next((name for text, name in _GUARDS.items() if text in line), None)
    if guard is None:
        return None
    found = _from_json(line) if line.startswith("{") else _from_text(line)
    if found is None or not found[0].startswith(_SERVED):
        return None
    detail = {"guard": guard, "why": found[2]}
    return Mark(time.monotonic_ns(), "router", Kind.GUARD, found[1], detail=detail)


def breaker_mark(line: str, nodes: Mapping[str, str]) -> Mark | None:
    """The opening of a circuit breaker, where the line names the worker: smg's does."""
    if TRANSITION not in line or not line.startswith("{"):
        return None
    try:
        entry: Any = json.loads(line)
        url, was, now = str(entry["worker_url"]), str(entry["from"]), str(entry["to"])
    except (ValueError, KeyError, TypeError):
        return None
    return opened(nodes.get(url, url), was, now)


def _from_json(line: str) -> tuple[str, str, str] | None:
    """(path, request id, message) of a line that was logged as JSON."""
    try:
        entry: Any = json.loads(line)
        span = entry["span"]
        why = str(entry["message"])
        if "status_code" in span:
            why += f" (status {entry.get('http_status', span['status_code'])})"
        return str(span["path"]), str(span["request_id"]), why
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _from_text(line: str) -> tuple[str, str, str] | None:
    span = _SPAN.search(line)
    if span is None:
        return None
    status = re.search(r"status_code=(\d+)", span[0])
    suffix = f" (status {status[1]})" if status else ""
    return span["path"], span["id"], line[span.end() :].rpartition(": ")[2].strip() + suffix
