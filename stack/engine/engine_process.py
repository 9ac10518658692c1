"""The engine process: one step thread that computes, one IO thread that talks and times."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from stack.engine.config import WorkerConfig
from stack.engine.desk import CHANNEL_LINE_BYTES_MAX, Desk
from stack.engine.failpoints import ENGINE_SITES, Armed, Failpoints
from stack.engine.guards.skip_to_failed import SkipToFailed
from stack.engine.half import Chore, Surroundings, decode_half, prefill_half
from stack.engine.knobs import Knobs
from stack.engine.ledger import Ledger
from stack.engine.order import Failure, Order
from stack.engine.rooms import Rooms
from stack.engine.trace import Trace

BEAT_S = 0.05  # how often the front hears that the engine lives
SWITCH_S = 0.0005  # the IO thread must not wait 5 ms for a busy step thread
BUG_EXIT_CODE = 70  # EX_SOFTWARE


class EngineProcess:
    """Runs in a child of the front; ends with it."""

    def __init__(self, config: WorkerConfig, knobs: Knobs, channel: socket.socket) -> None:
        torch.set_num_threads(1)
        sys.setswitchinterval(SWITCH_S)
        torch.set_grad_enabled(False)
        self._config = config
        self._knobs = knobs
        self._channel = channel
        self._ledger = Ledger(Trace(config.trace_path, config.name))
        self._failpoints = Failpoints(ENGINE_SITES)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ready = threading.Event()

    def run(self) -> None:
        """The step loop, in this thread; never returns while the front lives."""
        threading.Thread(target=self._io, name="io", daemon=True).start()
        self._ready.wait()
        try:
            self._half.step.run()
        except BaseException:  # noqa: BLE001 - a thread's top: the front must see us die
            traceback.print_exc()
            os._exit(BUG_EXIT_CODE)

    def _io(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException:  # noqa: BLE001 - a thread's top: the front must see us die
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(BUG_EXIT_CODE)
        os._exit(0)

    async def _serve(self) -> None:
        reader, writer = await asyncio.open_connection(
            sock=self._channel, limit=CHANNEL_LINE_BYTES_MAX
        )
        self._desk = Desk(reader, writer)
        skip = SkipToFailed(self._knobs.on("skip_to_failed"))
        self._rooms = Rooms(self._ledger, self._failpoints, skip, self._desk.failed)
        build = prefill_half if self._config.role == "prefill" else decode_half
        around = Surroundings(self._ledger, self._failpoints, self._rooms, self._desk, self._keep)
        self._half = await build(self._config, self._knobs, around)
        self._keep(self._rooms.sweep(self._half.timers))
        self._keep(self._beat())
        self._ready.set()
        self._desk.send("ready")
        while (message := await self._desk.read()) is not None:
            self._take(message)

    def _keep(self, chore: Chore) -> None:
        """A chore that fails is a bug, and a bug ends the engine where everybody sees it."""
        task = asyncio.get_running_loop().create_task(chore)
        self._tasks.add(task)
        task.add_done_callback(_die_of)

    def _take(self, message: dict[str, Any]) -> None:
        if message["op"] == "submit":
            self._rooms.open(Order.from_json(message["order"]), self._half.side)
        elif message["op"] == "abort":
            failure = Failure(message["code"], message["message"])
            self._rooms.abort(message["room"], failure)
        else:
            self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        asked, number = message["op"], message["number"]
        if asked == "turn":  # answered by the step thread: a hung one does not
            self._half.step.call(partial(self._turned, asyncio.get_running_loop(), number))
            return
        try:
            value = self._value(asked, message)
        except ValueError as error:
            self._desk.send("answer", number=number, error=str(error))
            return
        self._desk.send("answer", number=number, value=value)

    def _turned(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        loop.call_soon_threadsafe(partial(self._desk.send, "answer", number=number, value=True))

    def _value(self, asked: str, message: Mapping[str, Any]) -> object:
        if asked == "knobs":
            return {"effective": self._knobs.effective(), "by_guard": self._knobs.by_guard()}
        if asked == "figures":
            return self._figures()
        if asked == "flush":
            self._half.step.call(self._half.flush)
            return True
        if asked == "arm":
            return self._failpoints.arm(message["failpoint"])
        if asked == "armed":
            return [asdict(armed) for armed in self._failpoints.armed()]
        found: Armed | None = None
        if asked == "hits":
            found = self._failpoints.get(message["id"])
        elif asked == "disarm":
            found = self._failpoints.disarm(message["id"])
        return asdict(found) if found else None

    async def _beat(self) -> None:
        while True:
            self._desk.send("beat", **self._figures())
            self._ledger.flush()
            await asyncio.sleep(BEAT_S)

    def _figures(self) -> dict[str, object]:
        return {
            **self._half.figures(),
            "census": self._ledger.census(),
            "oldest_s": self._ledger.oldest_s(),
            "acts": dict(self._ledger.acts),
            "counts": dict(self._ledger.counts),
            "open": len(self._rooms),
        }


def _die_of(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        traceback.print_exception(task.exception())
        sys.stderr.flush()
        os._exit(BUG_EXIT_CODE)
