"""Legs that a test reads, or does not read, by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any

import httpx

from tests.stack.engine.pair import BOUND_S, Worker


class Caller:
    """A leg that is sent and never read; closing it is what a client does who gives up."""

    def __init__(self, worker: Worker, request_id: str, body: Mapping[str, Any]) -> None:
        self._connection = HTTPConnection("127.0.0.1", worker.config.port, timeout=BOUND_S)
        headers = {"X-Request-ID": request_id, "Content-Type": "application/json"}
        self._connection.request("POST", "/v1/completions", json.dumps(body), headers)

    def hang_up(self) -> None:
        self._connection.close()


class Stream:
    """A decode leg that is read by hand."""

    def __init__(self, worker: Worker, request_id: str, body: Mapping[str, Any]) -> None:
        self._client = httpx.Client(timeout=BOUND_S)
        self._context = self._client.stream(
            "POST",
            worker.url + "/v1/completions",
            json={**body, "stream": True},
            headers={"X-Request-ID": request_id},
        )

    def __enter__(self) -> httpx.Response:
        return self._context.__enter__()

    def __exit__(self, *_: object) -> None:
        self._context.__exit__(None, None, None)
        self._client.close()
