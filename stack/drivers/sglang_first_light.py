"""Ready means: a completion came back through the router, and KV moved for it."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from chaos.contracts import Unreadable
from stack.drivers.sglang_probes import transfers
from stack.node_process import NodeFailed

ANSWER_MAX_S: Final = 30.0  # the first request compiles and connects
_EVERY_S: Final = 0.5
_NOTHING: Final = "nothing"
_PROMPT: Final = "first light of a stack that has just been started"


@dataclass(frozen=True, slots=True)
class FirstLight:
    """Asks the router until it answers, then each prefill whether its KV left it."""

    router: str
    model: str
    prefills: Sequence[str]

    def wait(self, timeout_s: float) -> None:
        """Raises NodeFailed that says which of the two did not come."""
        deadline_s = time.monotonic() + timeout_s
        before = self._moved()
        self._answer(deadline_s)
        while self._moved() <= before:
            if time.monotonic() > deadline_s:
                raise NodeFailed(
                    "KV does not move: a completion came back, and no prefill has counted a "
                    "transfer (kv_transfer_latency_ms_count); look for mooncake in prefill's log"
                )
            time.sleep(_EVERY_S)

    def _moved(self) -> float:
        try:
            return sum(transfers(url) for url in self.prefills)
        except Unreadable:
            return 0.0

    def _answer(self, deadline_s: float) -> None:
        said = _NOTHING
        while time.monotonic() < deadline_s:
            try:
                status, said = self._ask(min(ANSWER_MAX_S, deadline_s - time.monotonic()))
                if status == HTTPStatus.OK:
                    return
            except TimeoutError as error:  # our own bound does not unsay what it said before
                said = repr(error) if said == _NOTHING else said
            except (OSError, http.client.HTTPException) as error:
                said = repr(error)
            time.sleep(_EVERY_S)
        raise NodeFailed(f"no completion came back through the router; it said last: {said}")

    def _ask(self, timeout_s: float) -> tuple[int, str]:
        caller = http.client.HTTPConnection(urlsplit(self.router).netloc, timeout=timeout_s)
        body = {"model": self.model, "prompt": _PROMPT, "max_tokens": 4, "temperature": 0.0}
        try:
            head = {"Content-Type": "application/json", "X-Request-ID": "first-light"}
            caller.request("POST", "/v1/completions", json.dumps(body), head)
            answer = caller.getresponse()
            return answer.status, f"{answer.status} {answer.read(500).decode(errors='replace')}"
        finally:
            caller.close()
