"""What a stuck CTA waits for: tried out on the program, not read from the source."""

from __future__ import annotations

from kernels.residency.machine import END, Machine, Undecided
from kernels.residency.scalar import Scalar, Unknown

TURNS_MAX = 16  # accesses of one turn of a waiting loop


def wanted(machine: Machine, stop: int, seen: Scalar) -> str:
    """`64 or more`: the values of its cell that would let it go on; "" where none is found."""
    if not isinstance(seen, int):
        return ""
    near = {value + by for value in _numbers(machine, stop) for by in (-1, 0, 1)}
    for value in sorted(near | {seen - 1, seen + 1}, key=lambda value: abs(value - seen)):
        if leaves(machine, stop, value):
            return _named(machine, stop, value, seen)
    return ""


def _named(machine: Machine, stop: int, value: int, seen: int) -> str:
    above, below = leaves(machine, stop, value + 1), leaves(machine, stop, value - 1)
    if value - seen == 1 and leaves(machine, stop, seen - 1):
        return f"anything but {seen}"
    if above and not below:
        return f"{value} or more"
    return f"{value} or less" if below and not above else f"{value}"


def _numbers(machine: Machine, stop: int) -> set[int]:
    held = [*machine.arguments.values(), *machine.stops[stop].values, 0]
    return {value for value in held if isinstance(value, int)}


def leaves(machine: Machine, stop: int, value: int) -> bool:
    """Whether it would not come back to where it is, if the cell stayed at this value."""
    at, cell = stop, value
    slot = machine.stops[stop].slot
    for _ in range(TURNS_MAX):
        try:
            step = machine.step(at, cell)
        except Undecided:
            return False
        if step.to == END or machine.stops[step.to].slot != slot or isinstance(cell, Unknown):
            return True
        if step.to == stop:
            return False
        at = step.to
    return False
