"""One sequence in the step thread's hands: its pages and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from stack.engine import alphabet
from stack.engine.ending import Ending
from stack.engine.order import Order


@dataclass(slots=True)
class Sequence:
    """`table` is `pages` as a tensor; `computed` positions have their KV written."""

    order: Order
    pages: list[int]
    computed: int = 0
    device: str = "cpu"
    output: list[int] = field(default_factory=list[int])
    table: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.table = torch.tensor(self.pages, dtype=torch.int32, device=self.device)

    def ending(self) -> Ending | None:
        """Why it ends with its last token, or None when it goes on."""
        order = self.order
        if self.output[-1] == alphabet.END and not order.ignore_end:
            return Ending("stop", 1)
        for stop in order.stop:
            if alphabet.decode(self.output[-len(stop) :]) == stop:
                return Ending("stop", len(stop))
        if len(self.output) >= order.tokens_max:
            return Ending("length", 0)
        return None
