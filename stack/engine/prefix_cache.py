"""Full prompt pages kept for the next round of the same conversation."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import sha256

from stack.engine.page_pool import PagePool


class PrefixCache:
    """Maps "all tokens up to the end of this page" to the page; the least recently used goes.

    A page is named by its whole prefix, because its KV depends on all of it.
    """

    def __init__(self, pool: PagePool, page_size: int, *, on: bool = True) -> None:
        self._pool = pool
        self._page_size = page_size
        self._on = on
        self._pages: OrderedDict[bytes, int] = OrderedDict()
        self.hit_tokens = 0

    def __len__(self) -> int:
        return len(self._pages)

    def match(self, tokens: tuple[int, ...]) -> list[int]:
        """Pages of the longest known prefix, shared with the caller.

        The last token is never matched: its logits are needed, and they are not kept.
        """
        found: list[int] = []
        for key in self._keys(tokens[:-1]):
            page = self._pages.get(key)
            if page is None:
                break
            self._pages.move_to_end(key)
            self._pool.share(page)
            found.append(page)
        self.hit_tokens += len(found) * self._page_size
        return found

    def keep(self, tokens: tuple[int, ...], pages: list[int]) -> None:
        """Remember the full pages of a computed prompt."""
        if not self._on:
            return
        for key, page in zip(self._keys(tokens), pages, strict=False):
            if key not in self._pages:
                self._pages[key] = page
                self._pool.share(page)

    def evict(self, wanted: int) -> None:
        """Give back pages that nobody else holds until this many are free, or none is left."""
        for key in list(self._pages):
            if self._pool.free >= wanted:
                return
            if self._pool.holders(self._pages[key]) == 1:
                self._pool.give_back([self._pages.pop(key)])

    def flush(self) -> None:
        self.evict(self._pool.size + 1)

    @property
    def idle_pages(self) -> int:
        """Pages that only this cache holds: no leak, they can be had at any moment.

        Any thread may ask: it reads a copy.
        """
        return sum(self._pool.holders(page) == 1 for page in list(self._pages.values()))

    def _keys(self, tokens: tuple[int, ...]) -> Iterator[bytes]:
        """A chain of digests: each names every token up to the end of its page."""
        digest = b""
        for start in range(0, len(tokens) - self._page_size + 1, self._page_size):
            page = array("H", tokens[start : start + self._page_size]).tobytes()
            digest = sha256(digest + page).digest()
            yield digest
