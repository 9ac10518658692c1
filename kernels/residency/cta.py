"""One CTA while it is resident, and what is said of it when it is stuck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from kernels.interpreter import Grid
from kernels.residency.answer import StuckCta
from kernels.residency.clause import source_of, target_of
from kernels.residency.memory import value_at
from kernels.residency.state import Loops, Site, kernel_frames, state_of

SIGHTS_BEYOND_DEPTH = 2  # the proof in scheduler.py says why
START = Site("start", 0, b"")


@dataclass(slots=True, eq=False)
class Cta:
    """One CTA: its index, its suspended execution, and the states it was seen in."""

    index: tuple[int, int, int]
    thread: Any
    site: Site = START
    loops: Loops = field(default_factory=Loops)
    sights: Counter[bytes] = field(default_factory=Counter[bytes])
    cyclic: bool = False

    @property
    def top(self) -> FrameType | None:
        return self.thread.gr_frame

    def state(self, now_ns: int) -> bytes | None:
        return state_of(self.top, self.site, self.loops, now_ns)

    def look(self, now_ns: int) -> None:
        """Note the present state; memory has not changed since the notes began."""
        if self.cyclic or self.site is START:
            return
        state = self.state(now_ns)
        if state is not None:
            self.sights[state] += 1
            enough = len(kernel_frames(self.top)) + SIGHTS_BEYOND_DEPTH
            self.cyclic = self.sights[state] >= enough

    def forget(self) -> None:
        self.sights.clear()
        self.cyclic = False


def stuck(residents: Iterable[Cta], grid: Grid) -> tuple[StuckCta, ...]:
    return tuple(_stuck(cta, grid) for cta in residents if cta.site is not START)


def _stuck(cta: Cta, grid: Grid) -> StuckCta:
    frames = kernel_frames(cta.top)
    places = [
        f"{Path(f.f_code.co_filename).name}:{f.f_lineno} in {f.f_code.co_name}" for f in frames
    ]
    counter, value = _counter(cta.site, grid)
    return StuckCta(
        cta.index,
        ", called from ".join(places),
        source_of(frames[0]) if frames else "",
        counter,
        value,
        cta.site.wanted or (target_of(frames[0]) if frames else ""),
    )


def _counter(site: Site, grid: Grid) -> tuple[str, str]:
    for buffer in grid.buffers:
        offset = site.address - buffer.address
        if 0 <= offset < buffer.nbytes:
            value = value_at(site.address, buffer.itemsize)
            return f"{buffer.name}[{offset // buffer.itemsize}]", str(value)
    return hex(site.address), "?"
