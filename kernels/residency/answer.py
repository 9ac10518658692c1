"""What a scheduled run found out, and how it says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

SHOWN_MAX = 4  # stuck CTAs that are listed; the rest wait alike and are counted


class Ending(StrEnum):
    FINISHED = "finished"
    DEADLOCK = "deadlock"  # proven: no schedule of the resident CTAs can end
    LIVELOCK = "livelock"  # this schedule repeats while memory changes; another one may end
    UNFINISHED = "unfinished"  # the step or time budget ran out first

    @property
    def proven(self) -> bool:
        return self in {Ending.FINISHED, Ending.DEADLOCK}


@dataclass(frozen=True, slots=True)
class StuckCta:
    """One resident CTA that waits for ever, and for what."""

    index: tuple[int, int, int]
    where: str  # "gqa_decode.py:59 in wait_until, called from combine:109"
    source: str  # the line itself
    counter: str  # "counters[3]", or an address when no argument holds it
    value: str  # what it reads there
    target: str  # "target = 64 or more", or "" when the source does not tell

    def __str__(self) -> str:
        target = f", waits for {self.target}" if self.target else ""
        return (
            f"CTA {self.index} at {self.where}\n      {self.source}\n"
            f"      {self.counter} = {self.value}{target}"
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One scheduled launch."""

    kernel: str
    grid: tuple[int, int, int]
    resident_max: int
    order: str
    ending: Ending
    steps: int
    why: str = ""  # what the proof rests on, or why there is none
    stuck: tuple[StuckCta, ...] = field(default=())
    never_started: int = 0

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def __str__(self) -> str:
        proof = "proven" if self.ending.proven else "not proven"
        head = (
            f"{self.kernel}: {self.ending}, {proof}: grid {self.ctas}, at most "
            f"{self.resident_max} resident, launched {self.order}, {self.steps} steps"
        )
        lines = [head, *([f"  {self.why}"] if self.why else [])]
        if self.stuck:
            lines.append(f"  {self._count()}")
            lines += [f"    {cta}" for cta in self.stuck[:SHOWN_MAX]]
            lines += self._rest()
        return "\n".join(lines)

    def _count(self) -> str:
        many = len(self.stuck)
        if self.ending is not Ending.DEADLOCK:
            return f"{many} CTAs still ran, {self.never_started} had not started"
        if self.never_started:
            return f"{many} CTAs are stuck, {self.never_started} can never start"
        return f"{many} CTAs are stuck; all were started, so more residency would not help"

    def _rest(self) -> list[str]:
        more = len(self.stuck) - SHOWN_MAX
        return [f"    and {more} more like these"] if more > 0 else []


class Deadlock(Exception):
    """The launch can never end, and that is proven."""

    def __init__(self, run: Run) -> None:
        super().__init__(str(run))
        self.run = run


class NotProven(Exception):
    """The launch did not end within its budget, which proves nothing."""

    def __init__(self, run: Run) -> None:
        super().__init__(str(run))
        self.run = run
