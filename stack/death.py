"""A process of ours that ended, and nobody who plays the experiment had told it to."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.event import Json, Kind, Mark
from chaos.reports.redaction import redacted_text
from stack.log_tail import last_lines
from stack.process_table import ProcessId

SUPERVISOR: Final = "supervisor"  # the actor of these marks: a dead node writes nothing down
LEADER: Final = "main"  # a node's first process, where its stack has no better name for it
_WORDS_LINES: Final = 8
_WORDS_CHARACTERS: Final = 1000  # of the end: an exception's type stands last
_LOOK_EVERY_S: Final = 2.0  # a look goes through all of /proc
Parts = Callable[[Sequence[ProcessId]], Mapping[str, ProcessId]]
Tell = Callable[[Mark], None]


def untold(mark: Mark) -> None:
    """Nobody wants to know."""


def leader_alone(alive: Sequence[ProcessId]) -> Mapping[str, ProcessId]:
    """Of a node whose other processes, if it has any, are its own affair."""
    return {LEADER: alive[0]} if alive else {}


@dataclass(frozen=True, slots=True)
class Witness:
    """Who is told of the deaths of a node, and how that node's processes are called."""

    tell: Tell = untold
    parts: Parts = leader_alone

    def named(self, alive: Sequence[ProcessId]) -> Mapping[ProcessId, str]:
        """A process without a name of its own ("child-0") may come and go."""
        named = self.parts(alive)
        return {one: part for part, one in named.items() if not part.startswith("child")}


class DeathWatch:
    """The living processes of one node, and the telling of each that ends without an order.

    Its node calls it under its own lock.
    """

    def __init__(self, node: str, log: Path, witness: Witness) -> None:
        self._node = node
        self._log = log
        self._witness = witness
        self._parts: Mapping[ProcessId, str] = {}
        self._looked_at_s = 0.0
        self._told: ProcessId | None = None  # one that cannot be replaced yet is told of once
        self.for_us = 0  # how many faults make the node kill itself now

    @property
    def wants_a_look(self) -> bool:
        """A node that was replaced forks its engine later, and nobody waits until it answers."""
        due_s = self._looked_at_s + _LOOK_EVERY_S
        return self._witness.parts is not leader_alone and (
            len(self._parts) <= 1 and time.monotonic() >= due_s
        )

    def look(self, alive: Sequence[ProcessId]) -> None:
        """These are the node's processes now, parents first."""
        self._looked_at_s = time.monotonic()
        self._parts = self._witness.named(alive)

    def watched(self, leader: ProcessId) -> list[ProcessId]:
        return [leader, *(one for one in self._parts if one != leader)]

    def of_now(self, some: Sequence[ProcessId]) -> list[ProcessId]:
        return [one for one in some if one in self._parts]

    def ended(self, dead: ProcessId, code: int | None, *, ordered: bool) -> None:
        """Tell of it, once, unless it was ordered."""
        part = self._parts.get(dead, LEADER)
        self._parts = {one: name for one, name in self._parts.items() if one != dead}
        if not (ordered or self.for_us or dead == self._told):
            self._told = dead
            self._witness.tell(death(self._node, part, code, self._log))


def death(node: str, part: str, code: int | None, log: Path) -> Mark:
    """`code` as Python tells it: negative is a signal. None: nobody could read it."""
    how: dict[str, Json] = {}
    if code is not None:
        how = {"signal": _signal(-code)} if code < 0 else {"exit_code": code}
    words = redacted_text(last_lines(log, _WORDS_LINES))[-_WORDS_CHARACTERS:]
    detail = {"part": part, **how, "last_words": words}
    return Mark(time.monotonic_ns(), SUPERVISOR, Kind.DIED, node, detail=detail)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)  # a real-time signal has no name
