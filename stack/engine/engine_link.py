"""The front's end of the channel to its engine, and every reply that is open on it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from stack.engine.order import Failure, Order

ASK_S = 0.9  # an admin call answers within a second, frozen engine or not


class NoAnswer(Exception):
    """The engine did not answer in its bound."""


@dataclass(frozen=True, slots=True)
class Tokens:
    tokens: tuple[int, ...]
    reason: str | None = None  # set on the last one
    hidden: int = 0  # that many last tokens are not part of the reply


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A prefill's happy end."""


Said = Tokens | HandedOver | Failure


@dataclass(slots=True, eq=False)
class Leg:
    """One order on its way; several legs of one request may share a queue."""

    index: int
    order: Order
    heard: asyncio.Queue[tuple[int, Said]]
    begun: bool = False  # on a prefill: it no longer waits for a decode's pages
    over: bool = False


class EngineLink:
    """JSON lines over a socket pair; see `Desk` for the other end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self.legs: dict[int, Leg] = {}
        self.beats = 0
        self.figures: Mapping[str, Any] = {}
        self.ready = asyncio.Event()

    @property
    def census(self) -> Mapping[str, int]:
        """Open requests by stage, as the engine last said."""
        return self.figures.get("census", {})

    async def listen(self) -> None:
        """Returns when the engine is gone."""
        while (raw := await self._read()).endswith(b"\n"):
            message = json.loads(raw)
            self._take(message.pop("op"), message)

    async def _read(self) -> bytes:
        try:
            return await self._reader.readline()
        except OSError:  # a killed engine resets the channel
            return b""

    def submit(self, leg: Leg) -> None:
        before = self.legs.get(leg.order.room)
        if before is not None:
            why = f"bootstrap_room {leg.order.room} is in use"
            self._say(leg, Failure("room_in_use", why, 400))
            return
        self.legs[leg.order.room] = leg
        self._send("submit", order=asdict(leg.order))

    def abort(self, room: int, failure: Failure) -> None:
        self._send("abort", room=room, code=failure.code, message=failure.message)

    def forget(self, leg: Leg) -> None:
        if self.legs.get(leg.order.room) is leg:
            del self.legs[leg.order.room]

    def fail_all(self, failure: Failure) -> list[Leg]:
        """Tell everybody; returns whom."""
        told = [leg for leg in self.legs.values() if not leg.over]
        for leg in told:
            self._say(leg, failure)
        return told

    async def ask(self, op: str, timeout_s: float = ASK_S, **fields: object) -> Any:  # noqa: ANN401 - any JSON
        """Raises NoAnswer in time, ValueError when the engine refuses."""
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(op, number=number, **fields)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._asked[number]
        except TimeoutError:
            raise NoAnswer(f"the engine did not answer in {timeout_s:g} s") from None
        finally:
            del self._asked[number]

    def _send(self, op: str, **fields: object) -> None:
        self._writer.write(json.dumps({"op": op, **fields}).encode() + b"\n")

    def _take(self, op: str, message: dict[str, Any]) -> None:
        if op == "beat":
            self.beats += 1
            self.figures = message
        elif op == "ready":
            self.ready.set()
        elif op == "answer":
            self._answer(message)
        else:
            leg = self.legs.get(message["room"])
            if leg is not None and op == "begun":
                leg.begun = True
            elif leg is not None:
                self._say(leg, _said(op, message))

    def _say(self, leg: Leg, said: Said) -> None:
        if leg.over:
            return
        leg.over = not isinstance(said, Tokens) or said.reason is not None
        leg.heard.put_nowait((leg.index, said))

    def _answer(self, message: Mapping[str, Any]) -> None:
        future = self._asked.get(message["number"])
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(ValueError(message["error"]))
        else:
            future.set_result(message["value"])


def _said(op: str, message: Mapping[str, Any]) -> Said:
    if op == "tokens":
        reason, hidden = message["end"] or (None, 0)
        return Tokens(tuple(message["tokens"]), reason, hidden)
    if op == "handed_over":
        return HandedOver()
    return Failure(message["code"], message["message"], message["status"])
