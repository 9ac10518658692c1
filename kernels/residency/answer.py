"""What the prover says of a launch, and how it says it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernels.residency.instructions import Access
from kernels.residency.play import Play, shortened
from kernels.residency.wants import wanted

SHOWN_MAX = 4  # stuck CTAs that are listed; the rest wait alike and are counted
MODEL = (
    "every claim is about sequentially consistent memory: weak memory is out of scope, apart from "
    "the store-buffering pattern, which is looked for"
)


_WITNESS = "witness, each number a CTA that takes a turn, and is launched at its first one"


class Verdict(StrEnum):
    SAFE = "SAFE"  # every launch order, every schedule
    DEADLOCK = "DEADLOCK, proven"  # a launch order and a schedule reach a state that cannot end
    ONE_ORDER = "FINISHED IN ONE ORDER"  # every schedule of the launch orders that were asked for
    NOT_PROVEN = "NOT PROVEN"

    @property
    def exit_code(self) -> int:
        return {Verdict.SAFE: 0, Verdict.DEADLOCK: 1}.get(self, 3)


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, its reason, and for a deadlock the turns that lead to it."""

    verdict: Verdict
    why: str
    turns: tuple[int, ...] | None = None
    stuck: str = ""

    @property
    def lines(self) -> list[str]:
        lines = [f"{self.verdict}: {self.why}"]
        if self.turns is not None:
            lines.append(f"{_WITNESS}: --play '{shortened(self.turns)}'")
            lines.append(self.stuck)
        return lines


def stuck(play: Play) -> str:
    """Who is resident, where, and what is seen there."""
    many = len(play.residents)
    lines = [f"  {_many(play)}"]
    for cta, stop in list(play.residents.items())[:SHOWN_MAX]:
        lines.append(f"    CTA {cta} at {_where(play, stop)}")
    if many > SHOWN_MAX:
        lines.append(f"    and {many - SHOWN_MAX} more")
    return "\n".join(lines)


def _many(play: Play) -> str:
    """How many hold a slot, whether for ever, and what becomes of the others."""
    many, left = len(play.residents), len(play.unstarted)
    ctas = "1 CTA is stuck" if many == 1 else f"{many} CTAs are stuck"
    if play.can_go_on() is not False:
        return f"{many} CTAs hold a slot, {left} are not launched yet"
    if not left:
        return f"{ctas}, all were launched, so that more slots are no help"
    return f"{ctas}, {left} can never start"


def _where(play: Play, stop: int) -> str:
    machine = play.machine
    place = machine.place(stop) or "an unknown line"
    access = machine.access(stop)
    if access is None:
        return f"{place}, in a loop that reads nothing any more"
    slot = machine.stops[stop].slot
    seen = play.machine.memory.read(play.cells, slot)
    name = machine.memory.names[slot]
    wants = wanted(machine, stop, seen)
    return f"{place}: {_word(access)} {name} = {seen}{wants and f', waits for {wants}'}"


def _word(access: Access) -> str:
    words = {"load": f"{access.order} load of", "rmw": f"atomic {access.how} on",
             "cas": "compare-and-swap on", "poll": "poll of", "store": "store to"}  # fmt: skip
    return words[access.kind]
