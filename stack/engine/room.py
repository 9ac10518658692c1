"""One side's view of one KV transfer: SGLang's five states and the way through them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum

from stack.engine.order import Failure, Order


class State(Enum):
    """Names and numbers are SGLang's KVPoll."""

    FAILED = 0
    BOOTSTRAPPING = 1
    WAITING_FOR_INPUT = 2
    TRANSFERRING = 3
    SUCCESS = 4


@dataclass(slots=True, eq=False)
class Room:
    """`moved_s`, on the clock of the rooms: when it entered its state, was last seen to get on, or
    was last known to wait for its turn in a queue that gets on. Every timer counts from there.
    """

    order: Order
    moved_s: float
    state: State = State.BOOTSTRAPPING
    failure: Failure | None = None
    peer: str | None = None  # who is on the other side, once that is known
    met_s: float = 0.0  # when that was known
    announced: bool = False  # the other side may write, or may be told
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def number(self) -> int:
        return self.order.room

    def meets(self, peer: str, now_s: float) -> None:
        if self.peer != peer:
            self.peer, self.met_s = peer, now_s

    def to(self, state: State, now_s: float) -> None:
        self.state = state
        self.moved_s = now_s
