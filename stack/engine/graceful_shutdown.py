"""What a worker does that is told to go: wait for what it has, hand back the rest, and go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from stack.engine.engine_link import EngineLink, NoAnswer
from stack.engine.guards.drain import Drain
from stack.engine.ledger import Ledger

LOOK_S = 0.02  # how often it looks whether everything is done
LAST_WORDS_S = 0.3  # for error replies, and for the peers of what is handed back, to be told


class GracefulShutdown:
    """`unanswered` says whether a client still waits for a byte; `ends` ends the process."""

    def __init__(
        self,
        drain: Drain,
        link: EngineLink,
        ledger: Ledger,
        unanswered: Callable[[], bool],
        ends: asyncio.Future[int],
    ) -> None:
        self._drain = drain
        self._link = link
        self._ledger = ledger
        self._unanswered = unanswered
        self._ends = ends
        self._leaving: asyncio.Task[None] | None = None

    def told(self) -> None:
        """A signal came: the first one begins the drain, the second one ends it."""
        if not self._drain.on:
            self._go()
        elif self._drain.begun:
            self._hand_back("this worker was told to go a second time")
            self._go()
        else:
            self._drain.begin(time.monotonic())
            self._leaving = asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        while await self._busy():
            if self._drain.over(time.monotonic()):
                self._hand_back(f"not done {self._drain.timeout_s:g} s after it was told to go")
                await asyncio.sleep(LAST_WORDS_S)
                break
            await asyncio.sleep(LOOK_S)
        self._go()

    async def _busy(self) -> bool:
        """An engine that does not answer may have anything: its own watchdog judges it."""
        if self._unanswered():
            return True
        try:
            figures = await self._link.ask("figures")
        except NoAnswer:
            return True
        return figures["open"] > 0 or self._unanswered()

    def _hand_back(self, why: str) -> None:
        """An honest error to each client, and an abort for the other half of each pair."""
        failure = self._drain.failure(why)
        for leg in self._link.fail_all(failure):
            self._ledger.guarded(self._drain.name, leg.order.request_id, why, leg.order.room)
            self._link.abort(leg.order.room, failure)

    def _go(self) -> None:
        if not self._ends.done():
            self._ends.set_result(0)
