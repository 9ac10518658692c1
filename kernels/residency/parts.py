"""Groups of CTAs that share no cell: each is explored by itself, whatever the others do.

Two groups are merged when one may write a cell that the other touches, and explored again, until
nothing is left to merge. What each does in isolation is then what it does in company, except that
they share the slots of the GPU. How many slots a group can hold while it is caught is therefore
all that has to be known of it: a launch of more CTAs than fit can hang only if such numbers, one
from each group, add up to R.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.residency.machine import END, Machine
from kernels.residency.states import Budget, Graph, Rules, State, counted
from kernels.residency.traps import Trap, frozen_traps, traps


@dataclass(frozen=True, slots=True)
class Part:
    """A group of CTAs, by their place in the launch, and everything they can do."""

    ctas: tuple[int, ...]
    graph: Graph
    traps: tuple[Trap, ...]  # with everybody resident
    frozen: tuple[Trap, ...]  # while nobody else is launched

    @property
    def ends(self) -> bool:
        """Whether some schedule of it ends."""
        return any(self.graph.final(at) for at in range(len(self.graph.states)))

    def waiting(self) -> int:
        """How many slots it can hold while it is caught, as bits; bit 0: none."""
        bits = 1
        for trap in self.frozen:
            bits |= (1 << trap.waiting_max + 1) - (1 << trap.waiting_min)
        return bits


def parts_of(machine: Machine, starts: Sequence[int], budget: Budget) -> list[Part]:
    """The parts of a launch whose CTAs begin at these stops. BudgetSpent if they are too large."""
    groups = _by_first_cell(machine, starts)
    graphs: dict[tuple[int, ...], Graph] = {}
    while True:
        for group in groups:
            if group not in graphs:
                graphs[group] = _explored(machine, [starts[cta] for cta in group], budget)
        merged = _merged(groups, graphs)
        if len(merged) == len(groups):
            break
        groups = merged
    found: list[Part] = []
    for group in groups:
        idle = frozenset(starts[cta] for cta in group)
        graph = graphs[group]
        found.append(Part(group, graph, tuple(traps(graph)), tuple(frozen_traps(graph, idle))))
    return found


def _explored(machine: Machine, stops: list[int], budget: Budget) -> Graph:
    graph = Graph(machine, Rules())
    graph.explore(State((), counted(stops), ()), budget)
    return graph


def _by_first_cell(machine: Machine, starts: Sequence[int]) -> list[tuple[int, ...]]:
    """CTAs that touch the same cell first belong together most likely; those that end at once
    are nobody's."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for cta, stop in enumerate(starts):
        if stop != END:
            slot = machine.stops[stop].slot
            groups[slot if slot >= 0 else -1 - cta].append(cta)
    return [tuple(group) for group in groups.values()]


def _merged(
    groups: list[tuple[int, ...]], graphs: dict[tuple[int, ...], Graph]
) -> list[tuple[int, ...]]:
    joined = _Joined(list(range(len(groups))))
    writers: dict[int, int] = {}
    for number, group in enumerate(groups):
        for slot in graphs[group].written:
            joined.join(number, writers.setdefault(slot, number))
    for number, group in enumerate(groups):
        for slot in graphs[group].read & writers.keys():
            joined.join(number, writers[slot])
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        found[joined.root(number)] += group
    return [tuple(sorted(group)) for group in found.values()]


@dataclass(slots=True)
class _Joined:
    """Which numbers belong together."""

    parent: list[int]

    def root(self, of: int) -> int:
        while self.parent[of] != of:
            of = self.parent[of]
        return of

    def join(self, one: int, other: int) -> None:
        self.parent[self.root(one)] = self.root(other)


def sums(parts: Sequence[Part]) -> int:
    """Every number of slots that parts can hold together while they are caught, as bits."""
    bits = 1
    for part in parts:
        total, one = 0, part.waiting()
        while one:
            low = one & -one
            total |= bits << low.bit_length() - 1
            one ^= low
        bits = total
    return bits


def shares(parts: Sequence[Part], total: int) -> list[int] | None:
    """How many slots each part holds, so that they add up to `total`; None if they cannot."""
    reach = [1]
    for part in parts:
        reach.append(_spread(reach[-1], part.waiting(), total))
    if not reach[-1] >> total & 1:
        return None
    found: list[int] = []
    for part, before in zip(reversed(parts), reversed(reach[:-1]), strict=True):
        options = part.waiting()
        share = next(n for n in range(min(total, options.bit_length() - 1), -1, -1)
                     if options >> n & 1 and before >> (total - n) & 1)  # fmt: skip
        found.append(share)
        total -= share
    return found[::-1]


def _spread(bits: int, options: int, most: int) -> int:
    total = 0
    for share in range(min(most, options.bit_length() - 1) + 1):
        if options >> share & 1:
            total |= bits << share
    return total & ((1 << most + 1) - 1)
