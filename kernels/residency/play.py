"""Runs CTAs one by one, by their places in the launch: to find a schedule that hangs, and to play
one again.

A schedule is written as the CTAs that take a turn, in order; a turn is one access to memory that
others can see. A CTA is launched at its first turn, so that this says the launch order as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from kernels.residency.machine import END, Machine
from kernels.residency.memory import Cells
from kernels.residency.states import Budget, BudgetSpent, Graph, Rules, State, counted

CLOSURE = Budget(states_max=20_000)  # of what is left when nothing seems to move
_TURNS = re.compile(r"(\d+)(?:\.\.(\d+))?(?:x(\d+))?")


@dataclass(slots=True)
class Play:
    """A launch under way: who is resident and where, and what the cells hold."""

    machine: Machine
    starts: Sequence[int]
    room: int
    residents: dict[int, int] = field(default_factory=dict[int, int])  # stop by CTA
    started: set[int] = field(default_factory=set[int])
    cells: Cells = ()
    written: set[int] = field(default_factory=set[int])  # slots
    turns: list[int] = field(default_factory=list[int])

    def turn(self, cta: int) -> bool:
        """Launch it if it was not, and let it take one step; whether anything changed."""
        if cta not in self.started:
            self.launch(cta)
            if cta not in self.residents:
                self.turns.append(cta)
                return True  # it did nothing and is gone
        if cta not in self.residents:
            raise ValueError(f"CTA {cta} has ended, and cannot take a turn")
        stop = self.residents[cta]
        graph = Graph(self.machine, Rules())
        to, cells = graph.take(self.cells, stop)
        self.written |= graph.written
        changed = to != stop or cells != self.cells
        self.cells = cells
        self.turns.append(cta)
        if to == END:
            del self.residents[cta]
        else:
            self.residents[cta] = to
        return changed

    def launch(self, cta: int) -> None:
        """ValueError if it is no CTA of this launch that could be launched now."""
        if not 0 <= cta < len(self.starts):
            raise ValueError(f"CTA {cta}: this launch has {len(self.starts)}")
        if len(self.residents) >= self.room:
            raise ValueError(f"CTA {cta} cannot be launched: {self.room} are resident already")
        self.started.add(cta)
        if self.starts[cta] != END:
            self.residents[cta] = self.starts[cta]

    @property
    def unstarted(self) -> list[int]:
        return [cta for cta in range(len(self.starts)) if cta not in self.started]

    def cannot_end(self) -> bool | None:
        """Whether no schedule of what is left ends; None if that is too much to look at."""
        graph = self.rest()
        return graph and not any(graph.final(at) for at in range(len(graph.states)))

    def can_go_on(self) -> bool | None:
        """Whether a CTA may leave or be launched some time; None if that is too much to look at."""
        graph = self.rest()
        return graph and any(
            edge.starts or graph.states[edge.to].resident < len(self.residents)
            for edges in graph.edges
            for edge in edges
        )

    def rest(self) -> Graph | None:
        """Every schedule of what is left; None if that is too much to look at."""
        graph = Graph(self.machine, Rules(self.room))
        waiting = counted(self.starts[cta] for cta in self.unstarted)
        state = State(self.cells, counted(self.residents.values()), waiting)
        try:
            graph.explore(state, CLOSURE)
        except BudgetSpent:
            return None
        return graph


def played(play: Play, order: Sequence[int], budget: Budget, seed: int | None = None) -> bool:
    """Launch in this order, and let the resident CTAs take turns: one after the other, or shuffled.

    Ends when nothing can change any more, or with the budget; returns whether everybody ended.
    """
    source = None if seed is None else Random(f"{seed}/turns")
    queue = iter(order)
    seen: set[tuple[Cells, tuple[tuple[int, int], ...]]] = set()
    fill(play, queue)
    while play.residents and len(play.turns) < budget.turns_max and not budget.spent:
        ctas = list(play.residents)
        if source is not None:
            source.shuffle(ctas)
        before = len(play.started), len(play.residents)
        for cta in ctas:
            play.turn(cta)
            fill(play, queue)
        state = play.cells, tuple(sorted(play.residents.items()))
        if before != (len(play.started), len(play.residents)):
            seen.clear()
        elif state in seen and (source is None or play.cannot_end()):
            return False
        seen.add(state)
    return not play.residents


def fill(play: Play, queue: Iterator[int]) -> None:
    """Launch from the queue as long as there is a free slot."""
    while len(play.residents) < play.room:
        cta = next(queue, None)
        if cta is None:
            return
        play.launch(cta)


def shortened(turns: Sequence[int]) -> str:
    """`0..7 9x3`: runs of CTAs that follow each other, and turns of one CTA in a row."""
    words: list[str] = []
    at = 0
    while at < len(turns):
        many = 1
        while at + many < len(turns) and turns[at + many] == turns[at] + many:
            many += 1
        same = 1
        while at + same < len(turns) and turns[at + same] == turns[at]:
            same += 1
        if many >= same and many > 1:
            words.append(f"{turns[at]}..{turns[at] + many - 1}")
        else:
            words.append(f"{turns[at]}x{same}" if same > 1 else f"{turns[at]}")
        at += max(many, same)
    return " ".join(words)


def read_turns(text: str) -> list[int]:
    """ValueError unless the text is a schedule as `shortened` writes it."""
    turns: list[int] = []
    for word in text.split():
        found = _TURNS.fullmatch(word)
        if found is None:
            raise ValueError(f"turns: expected CTAs such as `0..7 9x3`, not {word!r}")
        first, last = int(found[1]), int(found[2] or found[1])
        turns += [cta for cta in range(first, last + 1) for _ in range(int(found[3] or 1))]
    return turns
