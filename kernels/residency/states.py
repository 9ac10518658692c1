"""Everything that CTAs can do together: states, the steps between them, and where runs are caught.

A state is what the cells hold, how many resident CTAs are at which stop, and who has not started.
Any resident CTA may step next, and any CTA may be launched next, unless the launch order is given.

Caught is said of a set of states that lead to each other, in which a fair run can stay for ever. A
run is fair if every resident CTA steps again and again, and if a free slot is taken in the end. A
run must leave the set if a slot is free for somebody, and if it holds a stop from which no step
stays inside: whoever is there can only leave. Such sets are found as strongly connected components.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kernels.residency.machine import END, NOWHERE, Machine
from kernels.residency.memory import Cells

CLOCK_EVERY = 256  # states between two looks at the clock
Counts = tuple[tuple[int, int], ...]  # (stop, how many CTAs are there), sorted


@dataclass(frozen=True, slots=True)
class State:
    cells: Cells
    residents: Counts
    unstarted: Counts | int  # by stop; with a given launch order, how many of it have started

    @property
    def resident(self) -> int:
        return sum(many for _, many in self.residents)


@dataclass(frozen=True, slots=True)
class Edge:
    stop: int  # of the CTA that steps
    starts: bool  # whether it was launched for that
    to: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What is allowed. Without `room` everybody is resident from the start."""

    room: int | None = None
    order: tuple[int, ...] | None = None  # stops in launch order


class BudgetSpent(Exception):
    """More states, or more time, than we are ready to spend."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How far a search goes."""

    states_max: int = 60_000  # of one graph
    turns_max: int = 60_000  # of one schedule that is tried
    until: float | None = None  # by the monotonic clock

    @property
    def spent(self) -> bool:
        return self.until is not None and time.monotonic() > self.until


@dataclass(slots=True)
class Graph:
    """The states that can be reached from the first one, and how."""

    machine: Machine
    rules: Rules
    states: list[State] = field(default_factory=list[State])
    edges: list[list[Edge]] = field(default_factory=list[list[Edge]])
    came_from: list[tuple[int, Edge] | None] = field(default_factory=list[tuple[int, Edge] | None])
    read: set[int] = field(default_factory=set[int])  # slots
    written: set[int] = field(default_factory=set[int])
    _numbers: dict[State, int] = field(default_factory=dict[State, int])

    def explore(self, first: State, budget: Budget) -> None:
        """Find every state. BudgetSpent if that is too much."""
        self._number(self._filled(first), None)
        at = 0
        while at < len(self.states):
            if len(self.states) > budget.states_max or (at % CLOCK_EVERY == 0 and budget.spent):
                raise BudgetSpent
            self.edges.append(list(self._steps(at)))
            at += 1

    def path(self, at: int) -> list[Edge]:
        """The steps from the first state to this one."""
        edges: list[Edge] = []
        while (came := self.came_from[at]) is not None:
            at, edge = came
            edges.append(edge)
        return edges[::-1]

    def final(self, at: int) -> bool:
        state = self.states[at]
        return not state.residents and not self._has_unstarted(state)

    def may_start(self, at: int) -> bool:
        """Whether a slot is free and somebody is left to take it."""
        state = self.states[at]
        room = self.rules.room
        return room is not None and state.resident < room and self._has_unstarted(state)

    def _has_unstarted(self, state: State) -> bool:
        if isinstance(state.unstarted, int):
            return self.rules.order is not None and state.unstarted < len(self.rules.order)
        return bool(state.unstarted)

    def _steps(self, at: int) -> Iterator[Edge]:
        state = self.states[at]
        for stop, _ in state.residents:
            yield self._edge(at, stop, starts=False)
        if isinstance(state.unstarted, int) or not self.may_start(at):
            return
        for stop, _ in state.unstarted:
            yield self._edge(at, stop, starts=True)

    def _edge(self, at: int, stop: int, *, starts: bool) -> Edge:
        state = self.states[at]
        to, cells = self.take(state.cells, stop)
        unstarted = state.unstarted
        if starts:
            assert not isinstance(unstarted, int)
            unstarted = moved(unstarted, stop, END)
            residents = moved(state.residents, END, to)
        else:
            residents = moved(state.residents, stop, to)
        after = self._filled(State(cells, residents, unstarted))
        number = self._numbers.get(after)
        edge = Edge(stop, starts, len(self.states) if number is None else number)
        if number is None:
            self._number(after, (at, edge))
        return edge

    def take(self, cells: Cells, stop: int) -> tuple[int, Cells]:
        """One step from a stop: where it leads, and what the cells hold then."""
        if stop == END:
            return END, cells
        memory, slot = self.machine.memory, self.machine.stops[stop].slot
        if slot == NOWHERE:
            return stop, cells
        step = self.machine.step(stop, memory.read(cells, slot))
        if step.reads:
            self.read.add(slot)
        if step.writes:
            self.written.add(slot)
            cells = memory.write(cells, slot, step.value)
        return step.to, cells

    def _filled(self, state: State) -> State:
        """With a given order, free slots are taken at once: a start by itself changes nothing."""
        order, room = self.rules.order, self.rules.room
        if order is None or room is None or not isinstance(state.unstarted, int):
            return state
        residents, started = Counter(dict(state.residents)), state.unstarted
        while started < len(order) and residents.total() < room:
            if order[started] != END:
                residents[order[started]] += 1
            started += 1
        return State(state.cells, tuple(sorted(residents.items())), started)

    def _number(self, state: State, came: tuple[int, Edge] | None) -> None:
        self._numbers[state] = len(self.states)
        self.states.append(state)
        self.came_from.append(came)


def moved(counts: Counts, of: int, to: int) -> Counts:
    """One CTA goes from one stop to another; END is where nobody is counted."""
    if of == to:
        return counts
    changed = dict(counts)
    if of != END:
        changed[of] -= 1
        if not changed[of]:
            del changed[of]
    if to != END:
        changed[to] = changed.get(to, 0) + 1
    return tuple(sorted(changed.items()))


def counted(stops: Iterable[int]) -> Counts:
    """CTAs by stop; those that do nothing at all are left out."""
    return tuple(sorted((stop, many) for stop, many in Counter(stops).items() if stop != END))


def components(edges: Sequence[Sequence[Edge]], without: frozenset[int]) -> list[int]:
    """For each state the number of its strongly connected component, by the edges whose stop is not
    in `without`."""
    search = _Tarjan(edges, without, [0] * len(edges), [0] * len(edges), [-1] * len(edges))
    for root in range(len(edges)):
        if not search.order[root]:
            search.visit(root)
    return search.found


@dataclass(slots=True)
class _Tarjan:
    """The algorithm of that name, without recursion."""

    edges: Sequence[Sequence[Edge]]
    without: frozenset[int]
    low: list[int]
    order: list[int]
    found: list[int]
    stack: list[int] = field(default_factory=list[int])
    clock: int = 0
    closed: int = 0

    def visit(self, root: int) -> None:
        calls = [(root, 0)]
        while calls:
            at, place = calls.pop()
            if not self.order[at]:
                self.clock += 1
                self.low[at] = self.order[at] = self.clock
                self.stack.append(at)
            new = self._first_new(at, place)
            if new is None:
                self._close(at)
            else:
                calls += [(at, new), (self.edges[at][new].to, 0)]

    def _first_new(self, at: int, place: int) -> int | None:
        """The first edge from here on that leads to somewhere new."""
        for new in range(place, len(self.edges[at])):
            edge = self.edges[at][new]
            if edge.stop in self.without and not edge.starts:
                continue
            if not self.order[edge.to]:
                return new
            if self.found[edge.to] < 0:
                self.low[at] = min(self.low[at], self.low[edge.to])
        return None

    def _close(self, at: int) -> None:
        if self.low[at] == self.order[at]:
            while self.found[at] < 0:
                self.found[self.stack.pop()] = self.closed
            self.closed += 1
