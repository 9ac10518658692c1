"""One reply as it grows: tokens in, text that may be shown out."""

from __future__ import annotations

from dataclasses import dataclass, field

from stack.engine import alphabet
from stack.engine.engine_link import Tokens
from stack.engine.order import Order


@dataclass(slots=True)
class Reply:
    """Tokens that may yet turn out to be a stop text are held back, one short of its length."""

    index: int
    order: Order
    tokens: list[int] = field(default_factory=list[int])  # shown
    computed: int = 0
    reason: str | None = None
    _held: list[int] = field(default_factory=list[int])

    def take(self, news: Tokens) -> str:
        """The text that may be shown now."""
        self.computed += len(news.tokens)
        self._held.extend(news.tokens)
        self.reason = news.reason
        if news.reason is not None:
            shown = self._held[: len(self._held) - news.hidden]
            self._held = []
        else:
            keep = max((len(stop) - 1 for stop in self.order.stop), default=0)
            cut = max(0, len(self._held) - keep)
            shown, self._held = self._held[:cut], self._held[cut:]
        self.tokens.extend(shown)
        return alphabet.decode(shown)

    @property
    def text(self) -> str:
        return alphabet.decode(self.tokens)
