"""The toxics of one proxy, in order, kept equal to the stages of its open connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from stack.toxiproxy.pipe import Toxic, ToxicEntry

DIRECTIONS = ("upstream", "downstream")


class FlowChange(Protocol):
    """The flow of one connection, as far as a chain changes it."""

    def add(self, entry: ToxicEntry) -> None: ...
    def update(self, entry: ToxicEntry) -> None: ...
    def remove(self, entry: ToxicEntry) -> None: ...


class Connected(Protocol):
    """Where the open flows of a direction are found at the moment of a change."""

    def flows(self, direction: str) -> Sequence[FlowChange]: ...


class ToxicChain:
    def __init__(self, connected: Connected) -> None:
        self._connected = connected
        self._entries: dict[str, list[ToxicEntry]] = {one: [] for one in DIRECTIONS}

    def __iter__(self) -> Iterator[ToxicEntry]:
        for direction in DIRECTIONS:
            yield from self._entries[direction]

    def of(self, direction: str) -> Sequence[ToxicEntry]:
        return self._entries[direction]

    def find(self, name: str) -> ToxicEntry | None:
        return next((entry for entry in self if entry.name == name), None)

    def resets(self) -> bool:
        """Must a connection that begins now be closed by RST?"""
        return any(entry.toxic.RESETS for entry in self)

    def add(self, entry: ToxicEntry) -> None:
        self._entries[entry.direction].append(entry)
        for flow in self._connected.flows(entry.direction):
            flow.add(entry)

    def update(self, entry: ToxicEntry, toxic: Toxic, toxicity: float) -> None:
        entry.toxic, entry.toxicity = toxic, toxicity
        for flow in self._connected.flows(entry.direction):
            flow.update(entry)

    def remove(self, entry: ToxicEntry) -> None:
        self._entries[entry.direction].remove(entry)
        for flow in self._connected.flows(entry.direction):
            flow.remove(entry)

    def clear(self) -> None:
        for entry in list(self):
            self.remove(entry)
