"""One toxic at work on one flow: does the waiting that the toxic's words ask for."""

from __future__ import annotations

import asyncio
from collections import deque
from random import Random
from typing import Protocol

from stack.toxiproxy.pipe import (
    Chunk,
    Give,
    Interrupted,
    Memory,
    Pipe,
    Sleep,
    Take,
    ToxicEntry,
    Word,
)
from stack.toxiproxy.toxics.noop import Noop


class Receiver(Protocol):
    """What can stand behind a stage or a source."""

    feeder: Feeder

    @property
    def read_bytes_max(self) -> int:
        """The most that one read may bring."""
        ...

    @property
    def has_room(self) -> bool: ...

    def put(self, data: memoryview | bytes, at_s: float) -> None:
        """Takes the bytes in any case; a feeder that sees no room should have waited."""
        ...

    def put_end(self) -> None: ...


class Feeder(Protocol):
    """What can stand in front of a stage or a sink."""

    next: Receiver

    def interrupt(self) -> bool:
        """Stop, handing on what is held; False if nothing more will come, or beyond recall."""
        ...

    def run(self) -> None:
        """Go on after an interrupt."""
        ...

    def resume(self) -> None:
        """There is room behind: go on."""
        ...


STAGED_BYTES = 1 << 15  # one chunk: as much as the real one reads at once


class Stage:
    """A receiver and a feeder, running one toxic. All of it happens in the loop's thread.

    Interrupting is immediate: a Give that waits for room is completed beyond the room there is,
    so that changing a chain never waits for a slow reader and never drops a chunk.
    """

    read_bytes_max = STAGED_BYTES

    def __init__(self, entry: ToxicEntry, rng: Random, feeder: Feeder, receiver: Receiver) -> None:
        self.entry = entry
        self.feeder = feeder
        self.next = receiver
        self.closed = False
        self._inbox: deque[Chunk | None] = deque()
        self._memory = Memory(rng)
        self._pipe: Pipe | None = None  # None: interrupted, or not begun
        self._word: Word = Take()
        self._timer: asyncio.TimerHandle | None = None
        self._due = False  # the word's time has come
        self._stepping = False

    @property
    def has_room(self) -> bool:
        return len(self._inbox) < self.entry.toxic.BUFFER_CHUNKS

    def put(self, data: memoryview | bytes, at_s: float) -> None:
        self._inbox.append(Chunk(bytes(data), at_s))
        self.resume()

    def put_end(self) -> None:
        self._inbox.append(None)
        self.resume()

    def run(self) -> None:
        """Begin, or begin again with the settings of now. Toxicity is decided at each run."""
        spared = self._memory.rng.random() >= self.entry.toxicity
        self._pipe = (Noop() if spared else self.entry.toxic).pipe(self._memory)
        self._advance(None)
        self.resume()

    def resume(self) -> None:
        """Go on as far as it goes without waiting."""
        if self._stepping:  # a neighbour that we have just fed calls back
            return
        self._stepping = True
        try:
            while self._pipe is not None and self._is_ready():
                self._step()
        finally:
            self._stepping = False

    def interrupt(self) -> bool:
        """Stop the toxic where it waits; False if the flow is closed or beyond recall."""
        while self._pipe is not None and isinstance(self._word, Give):
            self._step()
        if self._pipe is None or (isinstance(self._word, Sleep) and not self._word.interruptible):
            return False
        self._disarm()
        pipe, self._pipe = self._pipe, None
        try:
            word = pipe.throw(Interrupted())
            while isinstance(word, Give):  # what it still held
                self.next.put(word.chunk.data, word.chunk.at_s)
                word = pipe.send(None)
        except Interrupted:
            return True
        raise TypeError(f"{self.entry.type}: expected only Give after Interrupted, got {word}")

    def drain(self) -> None:
        """Hand on what waits in front of an interrupted toxic: it is being taken away."""
        for chunk in self._inbox:
            if chunk is None:
                self.close()
            else:
                self.next.put(chunk.data, chunk.at_s)
        self._inbox.clear()

    def close(self) -> None:
        """No more comes out of this stage, whatever waits in front of it."""
        self._disarm()
        self._pipe = None
        if not self.closed:
            self.closed = True
            self.next.put_end()

    def abandon(self) -> None:
        """The connection is gone on both sides: wait for nothing any more."""
        self._disarm()
        self._pipe = None
        self._inbox.clear()

    def _is_ready(self) -> bool:
        match self._word:
            case Take():
                return bool(self._inbox) or self._due
            case Sleep():
                return self._due
            case Give():
                return self.next.has_room

    def _step(self) -> None:
        match self._word:
            case Take() if self._inbox:
                self._take()
            case Take():
                self._advance(None, expired=True)
            case Sleep():
                self._advance(None)
            case Give(chunk):
                self.next.put(chunk.data, chunk.at_s)
                self._advance(None)

    def _take(self) -> None:
        chunk = self._inbox[0]
        if chunk is not None:  # the end stays: a toxic that is run again must see it again
            self._inbox.popleft()
        self._advance(chunk)
        if chunk is not None and self.has_room:
            self.feeder.resume()

    def _advance(self, answer: Chunk | None, *, expired: bool = False) -> None:
        self._disarm()
        assert self._pipe is not None
        try:
            self._word = self._pipe.throw(TimeoutError()) if expired else self._pipe.send(answer)
        except StopIteration:
            self.close()
            return
        match self._word:
            case Sleep(for_s=float(after_s)) | Take(within_s=float(after_s)):
                self._arm(after_s)
            case _:
                pass

    def _arm(self, after_s: float) -> None:
        if after_s <= 0:
            self._due = True
        else:
            self._timer = asyncio.get_running_loop().call_later(after_s, self._expire)

    def _expire(self) -> None:
        self._timer = None
        self._due = True
        self.resume()

    def _disarm(self) -> None:
        self._due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
