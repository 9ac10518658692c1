"""The words in which a toxic says what it does with a chunk.

A toxic is a generator: it yields Take, Sleep or Give, and the stage that runs it does the
waiting. So a toxic knows nothing of sockets, loops or other toxics, and a stage can be
interrupted between two words without losing a chunk.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class Chunk:
    data: bytes
    at_s: float  # time.monotonic() at which it was read from the sender's socket


@dataclass(frozen=True, slots=True)
class Take:
    """Wait for the next chunk; the answer is None once the sender has closed.

    TimeoutError is raised in the toxic when nothing came within `within_s`.
    """

    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Sleep:
    """`for_s` None: until interrupted."""

    for_s: float | None
    interruptible: bool = True


@dataclass(frozen=True, slots=True)
class Give:
    """Pass a chunk on; waits while the far side is full, and is never interrupted."""

    chunk: Chunk


class Interrupted(Exception):
    """Raised in a toxic at Take or Sleep when it is updated, removed, or gets a neighbour.

    It may Give what it still holds before it lets this exception go.
    """


@dataclass(slots=True)
class Memory:
    """What a stage remembers of its connection, from one run of its toxic to the next."""

    rng: Random
    passed_bytes: int = 0


Word = Take | Sleep | Give
Pipe = Generator[Word, Chunk | None, None]


class Toxic(Protocol):
    """Settings (a frozen dataclass of integers) and a pipe. A pipe that returns closes the flow."""

    BUFFER_CHUNKS: ClassVar[int]  # how many chunks may wait in front of it
    CLOSES_WHEN_REMOVED: ClassVar[bool]
    RESETS: ClassVar[bool]  # connections made while it is on are closed by RST

    def pipe(self, memory: Memory) -> Pipe: ...


@dataclass(slots=True)
class ToxicEntry:
    """A toxic under its name on a proxy; `toxic` is replaced when it is updated."""

    name: str
    type: str
    stream: str  # as the caller wrote it: "upstream" | "Downstream" | ...
    toxicity: float
    toxic: Toxic
    direction: str = field(init=False)

    def __post_init__(self) -> None:
        self.direction = self.stream.lower()
