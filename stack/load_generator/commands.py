"""What the load generator is told to do, one command line at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp

from stack.load_generator import wire
from stack.load_generator.batch import Batch
from stack.load_generator.exchange import Target
from stack.load_generator.lag import watch_lag
from stack.load_generator.outbox import Outbox


class Commands:
    """Holds the batch that is being played. One at a time."""

    def __init__(self, session: aiohttp.ClientSession, outbox: Outbox) -> None:
        self._session = session
        self._outbox = outbox
        self._batch: Batch | None = None
        self._watches: list[asyncio.Task[None]] = []

    async def obey(self, command: Mapping[str, Any]) -> None:
        """Do it and answer. KeyError: no such command."""
        match command["command"]:
            case "start":
                value = await self._start(command)
            case "stop":
                value = await self._stop()
            case "ping":
                value = True
            case name:
                value = await self._touch(str(name), str(command["request_id"]))
        self._outbox.answer(command["id"], value)

    async def _start(self, command: Mapping[str, Any]) -> bool:
        await self._stop()
        self._outbox.open(command["batch"])
        target = Target(command["url"], command["model"], command.get("id_field"), command["batch"])
        requests = wire.requests_in(command["requests"])
        self._batch = Batch(self._session, target, requests, self._outbox)
        lag = asyncio.get_running_loop().create_task(watch_lag(self._outbox))
        self._watches = [lag, self._batch.on_settled(self._settled)]
        return True

    async def _stop(self) -> bool:
        """Whether there was anything to stop."""
        watches, self._watches = self._watches, []
        batch, self._batch = self._batch, None
        for watch in watches:
            watch.cancel()
        if batch is not None:
            await batch.give_up()
        await asyncio.gather(*watches, return_exceptions=True)
        return batch is not None

    def _settled(self) -> None:
        self._watches[0].cancel()  # nobody waits for a reply any more: our lag harms nobody
        self._outbox.settled()

    async def _touch(self, name: str, request_id: str) -> bool | int | None:
        """None: this request is not open."""
        exchange = self._batch.exchange(request_id) if self._batch is not None else None
        if exchange is None:
            return None
        match name:
            case "disconnect":
                return await exchange.hang_up()
            case "pause":
                return exchange.pause()
            case "resume":
                return exchange.resume()
            case "unread_bytes":
                return exchange.unread_bytes()
            case _:
                raise KeyError(f"no such command: {name!r}")
