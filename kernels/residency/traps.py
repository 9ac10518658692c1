"""Where runs are caught for ever, in a graph of states (see states.py)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from kernels.residency.states import Graph, components

NOBODY = frozenset[int]()


@dataclass(frozen=True, slots=True)
class Trap:
    """States in which a fair run can stay for ever."""

    states: tuple[int, ...]
    closed: bool  # no step leads out: once here, nothing can end any more
    waiting_min: int  # CTAs that hold a slot meanwhile
    waiting_max: int


def traps(graph: Graph) -> list[Trap]:
    """Where all CTAs that are left are caught."""
    return _found(graph, NOBODY, NOBODY)


def frozen_traps(graph: Graph, idle: frozenset[int]) -> list[Trap]:
    """Where CTAs are caught for as long as nobody else is launched.

    `idle` are the stops at which a CTA has done nothing yet: who is there may as well not be
    launched, so that it need not step, and need not hold a slot. A CTA that comes back to such a
    stop is not told apart, so that this finds too much rather than too little.
    """
    return _found(graph, idle, NOBODY) + _found(graph, idle, idle)


def _found(graph: Graph, idle: frozenset[int], still: frozenset[int]) -> list[Trap]:
    numbers = components(graph.edges, still)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for state, number in enumerate(numbers):
        members[number].append(state)
    looked = (_trap(graph, states, numbers, idle, still) for states in members.values())
    return [trap for trap in looked if trap is not None]


def _trap(
    graph: Graph, states: list[int], numbers: list[int], idle: frozenset[int], still: frozenset[int]
) -> Trap | None:
    if any(graph.final(at) or graph.may_start(at) for at in states):
        return None
    stays: set[int] = set()
    closed = True
    for at in states:
        for edge in graph.edges[at]:
            if edge.starts or edge.stop in still:
                continue
            if numbers[edge.to] == numbers[at]:
                stays.add(edge.stop)
            elif edge.stop not in idle:
                closed = False
    counts = [graph.states[at].residents for at in states]
    there = {stop for each in counts for stop, _ in each}
    if there - stays - idle:
        return None  # whoever is there can only leave, and must step some time
    busy = [sum(many for stop, many in each if stop not in idle) for each in counts]
    held = [sum(many for stop, many in each if stop not in idle or stop in stays)
            for each in counts]  # fmt: skip
    return Trap(tuple(states), closed, min(busy), max(held)) if max(held) else None
