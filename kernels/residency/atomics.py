"""What one access does to one cell."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.residency.instructions import Access
from kernels.residency.scalar import INTEGER, Scalar, Unknown, bits_of, is_float, rounded

SMALLEST_NORMAL = 2.0**-126  # of fp32: an atomic addition may flush what is smaller to 0
_INTEGER = {"add": "addi", "and": "andi", "or": "ori", "xor": "xori", "max": "maxsi",
            "min": "minsi", "umax": "maxui", "umin": "minui"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it: the cell's new value, and what the CTA got."""

    value: Scalar
    result: Scalar
    reads: bool
    writes: bool
    stays: bool = False  # a poll that did not see what it waits for
    unknown: str = ""


def apply(access: Access, cell: Scalar, operands: tuple[Scalar, ...]) -> Done:
    if access.kind == "load":
        return Done(cell, cell, reads=True, writes=False)
    if access.kind == "store":
        return _written(operands[0], 0, reads=False)
    if access.kind == "rmw":
        return _modified(access, cell, operands[0])
    return _compared(access, cell, operands)


def _compared(access: Access, cell: Scalar, operands: tuple[Scalar, ...]) -> Done:
    for operand in (cell, *operands):
        if isinstance(operand, Unknown):
            return Done(cell, operand, reads=True, writes=False, unknown=operand.why)
    if access.kind == "cas":
        if cell != operands[0]:
            return Done(cell, cell, reads=True, writes=False)
        return _written(operands[1], cell, reads=True)
    matched = cell == operands[0]
    stays = not matched and not access.timed
    return Done(cell, int(matched), reads=True, writes=False, stays=stays)


def _written(value: Scalar, result: Scalar, *, reads: bool) -> Done:
    unknown = value.why if isinstance(value, Unknown) else ""
    return Done(value, result, reads=reads, writes=True, unknown=unknown)


def _modified(access: Access, cell: Scalar, operand: Scalar) -> Done:
    value = _new_value(access, cell, operand)
    if isinstance(value, Unknown):
        return Done(cell, value, reads=True, writes=False, unknown=value.why)
    if access.how != "exch" and value == cell:
        return Done(cell, cell, reads=True, writes=False)
    return Done(value, cell, reads=True, writes=True)


def _new_value(access: Access, cell: Scalar, operand: Scalar) -> Scalar:
    if isinstance(operand, Unknown) or access.how == "exch":
        return operand
    if isinstance(cell, Unknown):
        return cell
    kind = access.element.element
    if is_float(kind):
        if access.how != "fadd":
            return Unknown(f"atomic {access.how} of a float")
        return _added(cell, operand, kind)
    if access.how not in _INTEGER:
        return Unknown(f"atomic {access.how}")
    return INTEGER[_INTEGER[access.how]](int(cell), int(operand), bits_of(kind))


def _added(cell: float, operand: float, kind: str) -> Scalar:
    total = rounded(cell + operand, kind)
    if isinstance(total, Unknown):
        return total
    if kind == "f32" and any(0 < abs(each) < SMALLEST_NORMAL for each in (cell, operand, total)):
        return Unknown("an atomic addition of numbers that may be flushed to 0")
    return total
