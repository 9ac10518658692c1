"""An experiment's past: ordered, finished, read-only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chaos.event import Event
from chaos.specification import Specification


@dataclass(frozen=True)
class History:
    """Events in the order of time; `control` is the fault-free run of the same seed."""

    events: tuple[Event, ...]
    specification: Specification
    control: History | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)
