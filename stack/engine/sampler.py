"""One token out of logits: greedy, or drawn by a seed and a position."""

from __future__ import annotations

from random import Random

import torch
from torch import Tensor

from stack.engine import alphabet
from stack.engine.order import Order


def sample(logits: Tensor, order: Order, position: int) -> int:
    """The draw depends on the order's seed and the position only, never on the batch."""
    if order.ignore_end:
        logits = logits[: alphabet.END]
    if order.temperature <= 0:
        return int(logits.argmax())
    chances = torch.softmax(logits.double() / order.temperature, dim=0).cumsum(0)
    drawn = Random(f"{order.seed}/{position}").random() * float(chances[-1])
    return min(int(torch.searchsorted(chances, drawn)), logits.shape[0] - 1)
