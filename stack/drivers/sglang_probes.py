"""What can be read of a real SGLang server without disturbing it.

Its /metrics page is refreshed only when a batch is logged, so that a gauge may stay where it was
when the last request ended. /v1/loads is what the scheduler published last; of a scheduler that
stands still it goes on telling the last word.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from chaos.contracts import Reading, Unreadable
from stack.metrics_page import samples
from stack.page import fetch

LOADS: Final = "/v1/loads?include=core,disagg"
_LOADS_MAX_S: Final = 1.5
_METRICS_MAX_S: Final = 3.0
_HEALTH_MAX_S: Final = 6.5  # it answers for itself that it is not well, after five seconds
_HEALTH_EVERY_S: Final = 2.0  # each look is a request of its own for the scheduler
_QUEUES: Final[Mapping[str, tuple[str, ...]]] = {
    "prefill": ("prefill_bootstrap_queue_reqs", "prefill_inflight_queue_reqs"),
    "decode": (
        "decode_prealloc_queue_reqs",
        "decode_transfer_queue_reqs",
        "decode_retracted_queue_reqs",
    ),
}


@dataclass(frozen=True, slots=True)
class LoadsProbe:
    """The scheduler's queues and pages, under the names that its metrics page has for them."""

    node: str
    url: str

    @property
    def name(self) -> str:
        return f"{self.node}/loads"

    def read(self) -> Sequence[Reading]:
        answer = fetch(self.url, LOADS, _LOADS_MAX_S)
        if answer.status != HTTPStatus.OK:
            raise Unreadable(f"{self.name}: status {answer.status}")
        try:
            load: Any = json.loads(answer.text)["loads"][0]
            values = {
                "sglang:num_running_reqs": float(load["num_running_reqs"]),
                "sglang:num_queue_reqs": float(load["num_waiting_reqs"]),
                "sglang:kv_used_tokens": float(load["num_used_tokens"]),
            }
            queues = load["disaggregation"]
            for name in _QUEUES[self.node.partition("-")[0]]:
                values[f"sglang:num_{name}"] = float(queues[name])
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise Unreadable(f"{self.name}: {error!r}") from error
        return [
            Reading(f"{self.node}/{name}", value, idle=name.startswith("sglang:num_"))
            for name, value in values.items()
        ]


class HealthPage:
    """The health page, looked at every two seconds at most: a read waits until it is time.

    The last word is not repeated in between: it may be older than what it is asked about.
    """

    def __init__(self, node: str, url: str) -> None:
        self.name = f"{node}/health"
        self._url = url
        self._lock = threading.Lock()
        self._asked_s = float("-inf")

    def read(self) -> Sequence[Reading]:
        with self._lock:
            time.sleep(max(0.0, self._asked_s + _HEALTH_EVERY_S - time.monotonic()))
            self._asked_s = time.monotonic()
            return [Reading(self.name, float(fetch(self._url, "/health", _HEALTH_MAX_S).status))]


def transfers(url: str) -> float:
    """How many KV transfers this prefill has counted. Raises Unreadable."""
    answer = fetch(url, "/metrics", _METRICS_MAX_S)
    wanted = "sglang:kv_transfer_latency_ms_count"
    return sum(one.value for one in samples(answer.text) if one.name == wanted)
