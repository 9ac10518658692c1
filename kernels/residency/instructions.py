"""The instructions of a flat program, and what flows between them."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.residency.shaped import Evaluator, Type


@dataclass(frozen=True, slots=True)
class Compute:
    """result := evaluate(operands)."""

    result: str
    evaluate: Evaluator
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """All at once."""

    into: tuple[str, ...]
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Jump:
    target: int


@dataclass(frozen=True, slots=True)
class Branch:
    condition: str
    yes: int
    no: int
    place: str


@dataclass(frozen=True, slots=True)
class End:
    pass


@dataclass(frozen=True, slots=True)
class Blocked:
    """What follows cannot be told."""

    why: str
    place: str


@dataclass(frozen=True, slots=True)
class Guard:
    """A counted loop that was left out: it ends if its step is positive, and its count does not
    wrap before it is at the end."""

    high: str
    step: str
    highest: int  # that the count can hold
    place: str


@dataclass(frozen=True, slots=True)
class Access:
    """One access to memory, element by element where it is a tensor's."""

    kind: str  # "load", "store", "rmw", "cas", "poll"
    how: str  # of an rmw: "add", "exch", ...
    order: str  # "acq_rel", "relaxed", "volatile", "plain", ...
    pointer: str
    operands: tuple[str, ...]  # the value to store; what to compare with, and the value
    mask: str | None
    other: str | None
    result: str | None
    element: Type  # of what is accessed
    count: int  # elements
    shared: bool  # whether another CTA may change what it reads, or see what it writes
    timed: bool
    place: str


@dataclass(frozen=True, slots=True)
class Probe:
    """An access on which no wait depends: only where it goes is looked at."""

    pointer: str
    mask: str | None
    element: Type
    count: int
    place: str


Instruction = Compute | Move | Jump | Branch | End | Blocked | Guard | Access | Probe


def uses(each: Instruction) -> tuple[str, ...]:
    if isinstance(each, Compute):
        return each.operands
    if isinstance(each, Move):
        return each.of
    if isinstance(each, Branch):
        return (each.condition,)
    if isinstance(each, Guard):
        return (each.high, each.step)
    if isinstance(each, Access):
        return _named(each.pointer, *each.operands, each.mask, each.other)
    return _named(each.pointer, each.mask) if isinstance(each, Probe) else ()


def _named(*names: str | None) -> tuple[str, ...]:
    return tuple(name for name in names if name is not None)


def makes(each: Instruction) -> tuple[str, ...]:
    if isinstance(each, Compute):
        return (each.result,)
    if isinstance(each, Move):
        return each.into
    return (each.result,) if isinstance(each, Access) and each.result is not None else ()


def after(at: int, each: Instruction) -> tuple[int, ...]:
    if isinstance(each, Jump):
        return (each.target,)
    if isinstance(each, Branch):
        return (each.yes, each.no)
    return () if isinstance(each, End) else (at + 1,)


def in_loops(code: list[Instruction]) -> frozenset[int]:
    """Between a jump back and its target, everything can be run again."""
    found: set[int] = set()
    for at, each in enumerate(code):
        for to in after(at, each):
            if to <= at:
                found.update(range(to, at + 1))
    return frozenset(found)


def liveness(code: list[Instruction]) -> list[set[str]]:
    live: list[set[str]] = [set() for _ in code]
    changed = True
    while changed:
        changed = False
        for at in range(len(code) - 1, -1, -1):
            each = code[at]
            out = set[str]().union(*(live[to] for to in after(at, each)))
            now = (out - set(makes(each))) | set(uses(each))
            if now != live[at]:
                live[at], changed = now, True
    return live
