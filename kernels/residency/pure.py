"""What an operation without memory computes: Triton IR's arithmetic on numbers and tensors.

An operation that is not known here makes an `Unknown` that names it, which is always safe.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from kernels.residency.conversion import converted
from kernels.residency.folding import reduction, scan
from kernels.residency.scalar import (
    INTEGER,
    NAN,
    Scalar,
    Unknown,
    binary,
    bits_of,
    compare_floats,
    compare_integers,
    float_binary,
    is_float,
    rounded,
    unary,
    whole,
    wrap,
)
from kernels.residency.shaped import (
    Evaluator,
    Type,
    Value,
    elements,
    index_of,
    lifted,
    parse_type,
    place_of,
    signature,
    unknown,
)
from kernels.ttir import Operation


def evaluator(operation: Operation) -> Evaluator:
    """What the only result of a pure operation is, from its operands."""
    name = operation.name
    dialect, _, short = name.partition(".")
    try:
        if name in _BY_NAME:
            return _BY_NAME[name](operation)
        if dialect == "arith" and short in INTEGER:
            return _integer(operation, short)
        if dialect == "arith" and short.endswith("f"):
            return _float(operation, short)
        if name in _CASTS:
            return _cast(operation)
    except (IndexError, ValueError) as error:  # a form of it that we have not met
        return unknown(f"{name}, which is not understood ({error})")
    return unknown(f"{name}, which is not modelled")


def _integer(operation: Operation, short: str) -> Evaluator:
    bits = bits_of(signature(operation.text)[0].element)
    known = INTEGER[short]
    of = whole(lambda a, b: known(a, b, bits))

    def run(operands: tuple[Value, ...]) -> Value:
        a, b = operands
        if short in {"andi", "muli"} and 0 in {_alone(a), _alone(b)}:
            return 0  # whatever the other side is
        return lifted(of, a, b)

    return run


def _alone(value: Value) -> Scalar:
    return Unknown("many") if isinstance(value, tuple) else value


def _float(operation: Operation, short: str) -> Evaluator:
    kind = signature(operation.text)[0].element
    if short == "negf":
        return lambda operands: lifted(unary(lambda a: rounded(-a, kind)), *operands)
    of = binary(lambda a, b: float_binary(short, a, b, kind))
    return lambda operands: lifted(of, *operands)


def _compare(operation: Operation) -> Evaluator:
    predicate = operation.text.split(operation.name, 1)[1].split(",", 1)[0].strip()
    kind = signature(operation.text)[0].element
    if operation.name == "arith.cmpf":
        of = binary(lambda a, b: compare_floats(predicate, a, b))
    else:
        bits = bits_of(kind)
        of = whole(lambda a, b: compare_integers(predicate, a, b, bits))
    return lambda operands: lifted(of, *operands)


def _select(_operation: Operation) -> Evaluator:
    def one(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        if isinstance(condition, Unknown):
            return yes if yes == no else condition
        return yes if condition else no

    return lambda operands: lifted(one, *operands)


def _constant(operation: Operation) -> Evaluator:
    left, _, right = operation.text.partition("arith.constant ")[2].rpartition(" : ")
    kind = parse_type(right).element if left else "i1"
    body = (left or right).strip()
    if body.startswith("dense<"):
        body = body.removeprefix("dense<").removesuffix(">")
    if body.startswith("["):
        parts = re.findall(r"[^\[\],\s]+", body)
        value: Value = tuple(_literal(part, kind) for part in parts)
    else:
        value = _literal(body.split(" ")[0], kind)
    return lambda _operands: value


def _literal(text: str, kind: str) -> Scalar:
    if text in {"true", "false"}:
        return int(text == "true")
    if not is_float(kind):
        return wrap(int(text, 0), bits_of(kind)) if bits_of(kind) else Unknown(f"a {kind}")
    if not text.startswith("0x"):
        return rounded(float(text), kind)
    if kind == "bf16":
        (found,) = struct.unpack("<f", struct.pack("<I", int(text, 16) << 16))
    else:
        whole, code = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}[kind]
        (found,) = struct.unpack(code, struct.pack(whole, int(text, 16)))
    return NAN if found != found else float(found)  # noqa: PLR0124 - a NaN


_CASTS = {
    f"arith.{name}"
    for name in ("extsi", "extui", "trunci", "index_cast", "sitofp", "uitofp", "fptosi", "fptoui",
                 "truncf", "extf", "bitcast")
} | {"tt.ptr_to_int", "tt.int_to_ptr", "tt.bitcast", "tt.fp_to_fp"}  # fmt: skip


def _cast(operation: Operation) -> Evaluator:
    types = signature(operation.text)
    source, target = types[0].element, types[-1].element
    short = operation.name.partition(".")[2]
    return lambda operands: lifted(
        unary(lambda value: converted(value, short, source, target)), *operands
    )


def _splat(_operation: Operation) -> Evaluator:
    return lambda operands: operands[0]  # a number stands for a tensor full of it


def _make_range(operation: Operation) -> Evaluator:
    end = int(operation.text.partition("end = ")[2].split(" ")[0])
    start = int(operation.text.partition("start = ")[2].split(" ")[0])
    value = tuple(range(start, end))
    return lambda _operands: value


def _same_order(_operation: Operation) -> Evaluator:
    return lambda operands: operands[0]


def _broadcast(operation: Operation) -> Evaluator:
    source, target = signature(operation.text)[0], signature(operation.text)[-1]
    return _picked(target, lambda index: place_of(
        [at if size > 1 else 0 for at, size in zip(index, source.shape, strict=True)],
        source.shape))  # fmt: skip


def _transposed(operation: Operation) -> Evaluator:
    source, target = signature(operation.text)[0], signature(operation.text)[-1]
    found = re.search(r"order = array<i32: ([\d, ]+)>", operation.text)
    if found is None:
        raise ValueError("no order")
    order = [int(part) for part in found[1].split(",")]

    def origin(index: tuple[int, ...]) -> int:
        back = [0] * len(order)
        for place, axis in enumerate(order):
            back[axis] = index[place]
        return place_of(back, source.shape)

    return _picked(target, origin)


def _picked(target: Type, origin: Callable[[tuple[int, ...]], int]) -> Evaluator:
    """A tensor each element of which is one of the operand's."""
    places = tuple(origin(index_of(place, target.shape)) for place in range(target.count))

    def run(operands: tuple[Value, ...]) -> Value:
        value = operands[0]
        return tuple(value[place] for place in places) if isinstance(value, tuple) else value

    return run


def _addptr(operation: Operation) -> Evaluator:
    pointer = signature(operation.text)[0]
    nbytes = max(1, bits_of(pointer.pointed) // 8)
    if not bits_of(pointer.pointed):
        return unknown(f"a pointer to {pointer.pointed}")
    of = whole(lambda a, b: wrap(a + b * nbytes, 64))
    return lambda operands: lifted(of, *operands)


_BY_NAME: dict[str, Callable[[Operation], Evaluator]] = {
    "arith.constant": _constant,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.select": _select,
    "tt.get_program_id": _splat,  # its operand is made by `program`
    "tt.get_num_programs": _splat,
    "tt.splat": _splat,
    "tt.unsplat": lambda _operation: lambda operands: elements(operands[0], 1)[0],
    "tt.make_range": _make_range,
    "tt.expand_dims": _same_order,
    "tt.reshape": _same_order,
    "tt.broadcast": _broadcast,
    "tt.trans": _transposed,
    "tt.addptr": _addptr,
    "tt.reduce": reduction,
    "tt.scan": scan,
}
