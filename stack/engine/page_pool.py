"""Which KV pages are free, which are held, and which must not be touched yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class PagePool:
    """Pages are counted references: a prefix page may belong to several sequences."""

    def __init__(self, pages: int) -> None:
        self.size = pages
        self._free = deque(range(pages))
        self._holders = [0] * pages
        self._quarantined: dict[int, tuple[int, ...]] = {}  # room -> its pages

    @property
    def free(self) -> int:
        return len(self._free)

    @property
    def quarantined(self) -> int:
        return sum(len(pages) for pages in list(self._quarantined.values()))

    @property
    def used(self) -> int:
        return self.size - self.free - self.quarantined

    def take(self, count: int) -> list[int] | None:
        """None when there are not enough; then nothing was taken."""
        if count > len(self._free):
            return None
        pages = [self._free.popleft() for _ in range(count)]
        for page in pages:
            self._holders[page] = 1
        return pages

    def share(self, page: int) -> None:
        assert self._holders[page] > 0, f"page {page} is free and cannot be shared"
        self._holders[page] += 1

    def holders(self, page: int) -> int:
        return self._holders[page]

    def give_back(self, pages: Sequence[int]) -> None:
        for page in pages:
            assert self._holders[page] > 0, f"page {page} was given back twice"
            self._holders[page] -= 1
            if self._holders[page] == 0:
                self._free.append(page)

    def quarantine(self, room: int, pages: Sequence[int]) -> None:
        """Keep them from everybody until this room's writer is known to be gone."""
        self._quarantined[room] = tuple(pages)

    def discharge(self, room: int) -> None:
        self.give_back(self._quarantined.pop(room, ()))


def pages_for(positions: int, page_size: int) -> int:
    return -(-positions // page_size)
