"""Reductions and scans along an axis of a tensor: only such as come to the same in any order.

In which order elements are combined is the compiler's choice. Whole numbers that wrap come to the
same in each, and so do maxima and minima of floats without a NaN; sums of floats do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kernels.residency.scalar import INTEGER, Scalar, binary, bits_of, float_binary, is_float, whole
from kernels.residency.shaped import Evaluator, Value, elements, index_of, signature, unknown
from kernels.ttir import Operation

Fold = Callable[[Scalar, Scalar], Scalar]
_WHOLE = {"addi", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui", "muli"}
_FLOATS = {"maximumf", "minimumf", "maxnumf", "minnumf"}


def reduction(operation: Operation) -> Evaluator:
    fold, source, axis = _fold(operation), signature(operation.text)[0], _axis(operation)
    if fold is None or axis is None:
        return unknown("a reduction whose order the compiler chooses")
    is_tensor = bool(signature(operation.text)[-1].shape)

    def run(operands: tuple[Value, ...]) -> Value:
        values = elements(operands[0], source.count)
        kept: dict[tuple[int, ...], Scalar] = {}
        for place, line in enumerate(_lines(source.shape, axis)):
            kept[line] = fold(kept[line], values[place]) if line in kept else values[place]
        results = tuple(kept.values())
        return results if is_tensor else results[0]

    return run


def scan(operation: Operation) -> Evaluator:
    """Each element combined with all before it; of an integer, so that grouping is all the same."""
    fold, source, axis = _fold(operation), signature(operation.text)[0], _axis(operation)
    if fold is None or axis is None or "reverse = true" in operation.text:
        return unknown("a scan whose order the compiler chooses")

    def run(operands: tuple[Value, ...]) -> Value:
        so_far: dict[tuple[int, ...], Scalar] = {}
        found: list[Scalar] = []
        values = elements(operands[0], source.count)
        for line, value in zip(_lines(source.shape, axis), values, strict=True):
            so_far[line] = fold(so_far[line], value) if line in so_far else value
            found.append(so_far[line])
        return tuple(found)

    return run


def _fold(operation: Operation) -> Fold | None:
    """What combines two elements; None unless it is one operation on both, of which order does not
    matter."""
    region, source = operation.regions[0], signature(operation.text)[0]
    if len(region.operations) != 2 or len(operation.results) != 1:  # noqa: PLR2004 - it and return
        return None
    combine, end = region.operations
    both = sorted(combine.operands) == sorted(region.arguments)
    if not both or end.operands != combine.results:
        return None
    short = combine.name.partition(".")[2]
    if short in _WHOLE:
        bits, known = bits_of(source.element), INTEGER[short]
        return whole(lambda a, b: known(a, b, bits))
    if short in _FLOATS and is_float(source.element):
        return binary(lambda a, b: float_binary(short, a, b, source.element))
    return None


def _axis(operation: Operation) -> int | None:
    found = re.search(r"axis = (\d+)", operation.text)
    return int(found[1]) if found else None


def _lines(shape: Sequence[int], axis: int) -> list[tuple[int, ...]]:
    """For each element in row-major order, which line along the axis it is in."""
    places = 1
    for size in shape:
        places *= size
    indices = (index_of(place, shape) for place in range(places))
    return [index[:axis] + index[axis + 1 :] for index in indices]
