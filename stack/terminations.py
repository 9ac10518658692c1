"""Who of one stack was told to go, as an orchestrator does it, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from signal import SIGTERM
from typing import Final

from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_delay, wait_fixed

from chaos.contracts import Unreadable
from chaos.event import Json
from stack.node_process import NodeFailed, NodeProcess
from stack.page import fetch
from stack.process_table import ProcessId

HEARD_MAX_S: Final = 2.0  # a signal that was sent is not yet one that was obeyed
_LOOK_S: Final = 0.01
_HEALTH_MAX_S: Final = 1.0
Told = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class _ToldToGo:
    process: ProcessId
    url: str
    well: bool  # its health page, before it was told


class Terminations:
    """Remembered by node: its first process, by pid and start time."""

    def __init__(self) -> None:
        self._told: dict[str, _ToldToGo] = {}

    def terminate(self, node: NodeProcess, url: str) -> Told:
        """SIGTERM to its first process; what goes is not replaced. Returns what `state` reads, once
        that shows an effect or after a bound. NodeFailed: it is down.
        """
        first = node.process
        if first is None:
            raise NodeFailed(f"{node.name} is down: nobody is there to be told to go")
        node.hold()
        self._told[node.name] = _ToldToGo(first, url, _status(url) == HTTPStatus.OK)
        first.signal(SIGTERM)
        looks = Retrying(
            stop=stop_after_delay(HEARD_MAX_S),
            wait=wait_fixed(_LOOK_S),
            retry=retry_if_result(_still_runs),
            retry_error_callback=_last,
        )
        return looks(self.state, node.name)

    def state(self, node: str) -> Told:
        """Who was told, and its state: "gone"; "draining", where its health page was well before
        and refuses now; else "running"."""
        told = self._told[node]
        if not told.process.alive:
            state = "gone"
        else:
            refuses = told.well and _status(told.url) == HTTPStatus.SERVICE_UNAVAILABLE
            state = "draining" if refuses else "running"
        return {"pid": told.process.pid, "start_ticks": told.process.start_ticks, "state": state}


def _status(url: str) -> int | None:
    """Of the health page; None when it does not answer."""
    try:
        return fetch(url, "/health", _HEALTH_MAX_S).status
    except Unreadable:
        return None


def _still_runs(told: Told) -> bool:
    return told["state"] == "running"


def _last(looks: RetryCallState) -> Told:
    assert looks.outcome is not None
    told: Told = looks.outcome.result()
    return told
