"""Our own lateness: while the loop lags, silence says nothing about the stack."""

from __future__ import annotations

import asyncio
from typing import Final

from chaos.event import Kind
from stack.load_generator.outbox import Outbox

TICK_S: Final = 0.01
WINDOW_S: Final = 0.25
WORTH_TELLING_S: Final = 0.05


async def watch_lag(outbox: Outbox) -> None:
    """Mark the worst lateness of every window in which it was worth telling. Runs for ever."""
    loop = asyncio.get_running_loop()
    worst_s, window_end_s = 0.0, loop.time() + WINDOW_S
    while True:
        due_s = loop.time() + TICK_S
        await asyncio.sleep(TICK_S)
        now_s = loop.time()
        worst_s = max(worst_s, now_s - due_s)
        if now_s < window_end_s:
            continue
        if worst_s > WORTH_TELLING_S:
            outbox.mark(Kind.LAG, "load_generator", {"lag_s": round(worst_s, 6)})
        worst_s, window_end_s = 0.0, now_s + WINDOW_S
