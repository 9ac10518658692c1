"""What a GPU would do with a split plan that cannot finish, staged where there is no GPU."""

from __future__ import annotations

import time
from collections.abc import Callable

from kernels.splits import Launch, deadlocks

_LOOK_S = 0.05


def spin() -> None:
    """The kernel's blocks wait for blocks that never start. Only the step watchdog ends it."""
    while True:
        time.sleep(_LOOK_S)


class KernelHang:
    """A split decode attention whose blocks all wait for each other (`spin_all`).

    With a moderate SGLANG_SM120_MMA_TARGET_CTAS every block of a launch is resident. With a
    large one a long context is split into more blocks than fit: short ones go on working.
    """

    def __init__(self, target_ctas: int, resident_ctas: int, tiles: int, block_tokens: int) -> None:
        self._target = target_ctas
        self._resident = resident_ctas
        self._tiles = tiles
        self._block_tokens = block_tokens

    def hangs(self, context_tokens: int) -> bool:
        launch = Launch((context_tokens,), self._tiles, self._block_tokens, "spin_all")
        return deadlocks(launch, self._target, self._resident)

    def stage(self, context_tokens: int, hang: Callable[[], None] = spin) -> None:
        if self.hangs(context_tokens):
            hang()
