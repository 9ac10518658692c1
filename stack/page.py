"""Asking one HTTP page of a node, with one bound on all of it."""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from chaos.contracts import Unreadable

PAGE_MAX_S: Final = 0.3
_PAGE_MAX_BYTES: Final = 4 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str


def fetch(url: str, path: str, timeout_s: float = PAGE_MAX_S) -> Answer:
    """GET a page on a connection of its own. Raises Unreadable when it took too long."""
    deadline_s = time.monotonic() + timeout_s
    caller = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout_s)
    try:
        caller.request("GET", path, headers={"Connection": "close"})
        answer = caller.getresponse()
        data = _read(answer, deadline_s)
    except (OSError, http.client.HTTPException) as error:
        raise Unreadable(f"{path}: {error!r}") from error
    finally:
        caller.close()
    return Answer(answer.status, data.decode("utf-8", "replace"))


def _read(answer: http.client.HTTPResponse, deadline_s: float) -> bytes:
    """A page that drips must not take longer than one that is silent."""
    data = b""
    while piece := answer.read1(_READ_BYTES):
        data += piece
        if time.monotonic() > deadline_s or len(data) > _PAGE_MAX_BYTES:
            raise TimeoutError("the page did not end in its bound")
    return data
