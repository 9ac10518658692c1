"""What a GPU would do with the split plan of a decode attention, staged where there is no GPU.

An emulation: the tiles are the engine's own, R is what the compiled `mla_decode` of the AOT table
has on a named GPU, and `kernels.splits` says whether that launch comes back. One that would not
hangs the step thread, here as there. What the engine really launches never waits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from kernels.golden import resident_ctas
from kernels.splits import TARGET_CTAS, Launch, SplitPlan, Verdict, block_tokens_for, plan
from kernels.zones import first_deadlock
from stack.engine.knobs import Knobs
from stack.engine.shape import Shape

_LOOK_S = 0.05
# The incident's kind of attention: one latent, wide tiles, and a single CTA on a multiprocessor.
CONFIGURATION = "mla_decode-bf16-{combine}"


@dataclass(frozen=True, slots=True)
class DecodeKernel:
    """The decode attention of one request, as the emulated GPU would launch it."""

    tile: Launch  # of no context yet
    target_ctas: int
    residency: int
    clamp: bool
    where: str  # what R was taken from

    def plan(self, context_tokens: int) -> SplitPlan:
        tile = self.tile
        launch = Launch(
            (context_tokens,), tile.tiles_per_request, tile.block_tokens, tile.combine, tile.heads
        )
        return plan(launch, self.target_ctas, self.residency, clamp=self.clamp)

    def hangs_from(self, context_max: int) -> int | None:
        """The shortest context, in tokens, at which a launch does not come back; None: none."""
        if self.clamp:
            return None
        return first_deadlock(self.tile, self.target_ctas, self.residency, context_max)


def decode_kernel(knobs: Knobs, shape: Shape) -> DecodeKernel:
    """Pure, without torch, so that who breaks a knob can predict what will happen.

    Raises ValueError for an R that one split of each tile does not fit into.
    """
    residency, where = _residency(knobs)
    if residency < shape.kv_heads:
        raise ValueError(
            f"{where}: expected at least {shape.kv_heads} resident CTAs, one for each tile, "
            f"not {residency}"
        )
    block_tokens = block_tokens_for(shape.head_dim)
    tile = Launch((0,), shape.kv_heads, block_tokens, knobs.combine, shape.heads)
    return DecodeKernel(tile, knobs.target_ctas, residency, knobs.clamp == "on", where)


def _residency(knobs: Knobs) -> tuple[int, str]:
    """R, and what it was taken from."""
    if knobs.resident_ctas:
        return knobs.resident_ctas, "PDCHAOS_RESIDENT_CTAS"
    configuration = CONFIGURATION.format(combine=knobs.combine)
    return resident_ctas(configuration, knobs.gpu), f"{configuration} on {knobs.gpu}"


def spin() -> NoReturn:
    """The CTAs wait for CTAs that never start. Only the step watchdog, or a kill, ends it."""
    while True:
        time.sleep(_LOOK_S)


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class KernelHang:
    """Stands in the step thread before every launch of a decode attention."""

    def __init__(
        self,
        kernel: DecodeKernel,
        say: Callable[[str], None] = say,
        hang: Callable[[], None] = spin,
    ) -> None:
        self._kernel = kernel
        self._say = say
        self._hang = hang
        self.clamped = 0  # launches that got fewer splits than the knob asks for

    def stage(self, context_tokens: int) -> None:
        """Come back at once, or never."""
        wanted = self._kernel.plan(context_tokens)
        if wanted.clamped:
            self._hold_back(wanted)
        if wanted.verdict is Verdict.DEADLOCK:
            self._say(f"kernel launched: {wanted}; R of {self._kernel.where}")
            self._hang()

    def figures(self) -> dict[str, object]:
        return {
            "kernel_target_ctas": self._kernel.target_ctas,
            "kernel_resident_ctas": self._kernel.residency,
            "kernel_clamped": self.clamped,
        }

    def _hold_back(self, wanted: SplitPlan) -> None:
        """Say it once: every step of a long reply would say it again."""
        self.clamped += 1
        if self.clamped == 1:
            self._say(
                f"{TARGET_CTAS}={wanted.target_ctas} is held back to {wanted.grid} CTAs: {wanted}; "
                f"R of {self._kernel.where}"
            )
