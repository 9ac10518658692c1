"""Which GPU the workers of one parallel pytest worker get: each its own, while there are enough."""

from __future__ import annotations

import re
from collections.abc import Mapping

VISIBLE = "CUDA_VISIBLE_DEVICES"


def leased_gpu(environ: Mapping[str, str]) -> dict[str, str]:
    """The variable that shows a child one card of those that we may see.

    Empty when none is named: then CUDA's own rule holds, and every child takes the first card.
    """
    cards = [card.strip() for card in environ.get(VISIBLE, "").split(",") if card.strip()]
    if not cards:
        return {}
    worker = re.search(r"\d+$", environ.get("PYTEST_XDIST_WORKER", ""))
    return {VISIBLE: cards[int(worker[0]) % len(cards) if worker else 0]}
