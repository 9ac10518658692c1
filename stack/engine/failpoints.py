"""Named places where a request can be hurt on purpose, and what is armed at each."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

ENGINE_SITES = (
    "bootstrap.enter",
    "bootstrap.metadata",
    "prefill.chunk",
    "prefill.step",
    "transfer.page",
    "transfer.done",
    "handover.ack",
    "admit.enter",
    "decode.step",
    "decode.token",
    "cleanup.abort",
)
FRONT_SITES = ("intake.enter", "leg.answer", "stream.chunk", "ending.finish", "health.answer")
SITES = ENGINE_SITES + FRONT_SITES
ACTIONS = ("hold", "delay", "drop", "error", "crash", "stop_after")
POLL_S = 0.005  # how soon a held one notices that it was released


class Injected(Exception):
    """A failpoint with action "error" was passed."""


@dataclass(slots=True)
class Armed:
    """One armed failpoint; mutable because it counts. Guarded by its table's lock."""

    id: int
    site: str
    action: str
    request_id: str | None
    delay_s: float
    after_bytes: int
    times: int | None
    hits: int = 0
    held: int = 0
    released: bool = False


class Failpoints:
    """Armed failpoints of one process, shared by its threads."""

    def __init__(self, sites: tuple[str, ...]) -> None:
        self.sites = sites
        self._lock = threading.Lock()
        self._armed: dict[int, Armed] = {}
        self._ids = itertools.count(1)

    def arm(self, raw: Mapping[str, Any]) -> int:
        """Raises ValueError when the site or the action is not one of ours."""
        site, action = raw.get("site"), raw.get("action")
        if site not in self.sites:
            raise ValueError(f"site: expected one of {', '.join(self.sites)}, got {site!r}")
        if action not in ACTIONS:
            raise ValueError(f"action: expected one of {', '.join(ACTIONS)}, got {action!r}")
        if action == "stop_after" and site != "transfer.page":
            raise ValueError(f"action: only transfer.page can stop_after, not {site}")
        with self._lock:
            identity = next(self._ids)
            self._armed[identity] = Armed(
                identity,
                site,
                action,
                raw.get("request_id"),
                float(raw.get("delay_s") or 0.0),
                int(raw.get("after_bytes") or 0),
                raw.get("times"),
            )
        return identity

    def disarm(self, identity: int) -> Armed | None:
        """Take it off and release whoever is held there. None: there is no such failpoint."""
        with self._lock:
            armed = self._armed.pop(identity, None)
            if armed is not None:
                armed.released = True
        return armed

    def get(self, identity: int) -> Armed | None:
        return self._armed.get(identity)

    def armed(self) -> list[Armed]:
        with self._lock:
            return list(self._armed.values())

    def hit(self, site: str, request_id: str | None) -> Armed | None:
        """Count a pass; None when nothing is armed for it. The quick path takes no lock."""
        if not self._armed:
            return None
        with self._lock:
            for armed in self._armed.values():
                if _matches(armed, site, request_id) and armed.action != "stop_after":
                    armed.hits += 1
                    return armed
        return None

    def stopper(self, request_id: str) -> Armed | None:
        """The armed stop_after for this request's KV bytes; the writer counts its hit."""
        with self._lock:
            for armed in self._armed.values():
                if armed.action == "stop_after" and _matches(armed, armed.site, request_id):
                    return armed
        return None

    def park(self, armed: Armed) -> Parked:
        with self._lock:
            armed.held += 1
        return Parked(self, armed)

    def unpark(self, armed: Armed) -> None:
        with self._lock:
            armed.held -= 1

    async def passing(self, site: str, request_id: str | None) -> bool:
        """For coroutines. False: drop what was about to happen. Raises Injected."""
        armed = self.hit(site, request_id)
        if armed is None:
            return True
        parked = self.parked(armed)
        if parked is None:
            return False
        try:
            while not parked.over():  # noqa: ASYNC110 - other threads release it
                await asyncio.sleep(POLL_S)
        finally:
            parked.leave()
        return True

    def blocking(self, site: str, present: Iterable[str]) -> bool:
        """For the step thread itself: a hold here stops every request of this engine.

        Armed for one request, it acts on the steps that this request has a part in.
        """
        armed = next(filter(None, (self.hit(site, request_id) for request_id in present)), None)
        if armed is None:
            return True
        parked = self.parked(armed)
        if parked is None:
            return False
        while not parked.over():
            time.sleep(POLL_S)
        parked.leave()
        return True

    def parked(self, armed: Armed) -> Parked | None:
        """What holds or delays the passer; None: drop. Raises Injected; may not return."""
        if armed.action == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if armed.action == "error":
            raise Injected(f"failpoint {armed.site}")
        return None if armed.action == "drop" else self.park(armed)


def _matches(armed: Armed, site: str, request_id: str | None) -> bool:
    if armed.site != site or (armed.times is not None and armed.hits >= armed.times):
        return False
    return armed.request_id is None or armed.request_id == request_id


class Parked:
    """Somebody who waits at a failpoint: until it is disarmed, or until its delay is over."""

    def __init__(self, table: Failpoints, armed: Armed) -> None:
        self._table = table
        self._armed = armed
        self._until = time.monotonic() + armed.delay_s if armed.action == "delay" else None

    def over(self) -> bool:
        late = self._until is not None and time.monotonic() >= self._until
        return late or self._armed.released

    def leave(self) -> None:
        self._table.unpark(self._armed)


Passing = Literal["pass", "skip", "drop"]


class Stops:
    """Request-level failpoints for the step thread, which must go on with the others."""

    def __init__(self, table: Failpoints, site: str) -> None:
        self._table = table
        self._site = site
        self._parked: dict[int, Parked] = {}

    def check(self, room: int, request_id: str) -> Passing:
        """ "skip": not now, ask again in the next step. Raises Injected."""
        waiting = self._parked.get(room)
        if waiting is None:
            armed = self._table.hit(self._site, request_id)
            if armed is None:
                return "pass"
            waiting = self._table.parked(armed)
            if waiting is None:
                return "drop"
            self._parked[room] = waiting
        if not waiting.over():
            return "skip"
        self.forget(room)
        return "pass"

    def forget(self, room: int) -> None:
        waiting = self._parked.pop(room, None)
        if waiting is not None:
            waiting.leave()
