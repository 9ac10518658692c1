"""What the step thread tells the IO thread. Every call returns at once."""

from __future__ import annotations

from typing import Protocol

from stack.engine.ending import Ending
from stack.engine.order import Failure


class PrefillOutlet(Protocol):
    def page(self, room: int, ordinal: int, payload: bytes, checksum: int) -> None:
        """One computed page of this prompt; `ordinal` counts from 0."""
        ...

    def computed(self, room: int, first_token: int) -> None: ...

    def broken(self, room: int, failure: Failure) -> None: ...


class DecodeOutlet(Protocol):
    def allocated(self, room: int, pages: list[int]) -> None:
        """These pages will receive the prompt's KV."""
        ...

    def tokens(self, room: int, tokens: list[int], ending: Ending | None) -> None: ...

    def broken(self, room: int, failure: Failure) -> None: ...


class Scheduler(Protocol):
    """What the step loop drives."""

    def step(self) -> bool:
        """Compute a little for everybody who can; False when nobody could."""
        ...

    @property
    def pending(self) -> int:
        """Requests that wait for this thread to do something."""
        ...
