"""Numbers as compiled code has them: integers that wrap, floats that round, and the unknown.

What compiled code leaves open (a shift by the width, a division by zero, an approximation) is
`Unknown`, with the reason; nothing that rests on it is ever claimed.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be told, and why."""

    why: str


Scalar = int | float | Unknown
NAN = float("nan")  # the one that is ever stored, so that equal states compare equal
_CODES = {16: "<e", 32: "<f", 64: "<d"}
_FLOAT = re.compile(r"^(?:f(16|32|64)|bf16)$")


def unary(of: Callable[[float], Scalar]) -> Callable[[Scalar], Scalar]:
    """A function of a number, that hands what is unknown on."""
    return lambda value: value if isinstance(value, Unknown) else of(value)


def binary(of: Callable[[float, float], Scalar]) -> Callable[[Scalar, Scalar], Scalar]:
    """A function of two numbers, likewise."""

    def guarded(a: Scalar, b: Scalar) -> Scalar:
        if isinstance(a, Unknown):
            return a
        return b if isinstance(b, Unknown) else of(a, b)

    return guarded


def whole(of: Callable[[int, int], Scalar]) -> Callable[[Scalar, Scalar], Scalar]:
    """A function of two integers, likewise."""
    return binary(lambda a, b: of(int(a), int(b)))


def bits_of(kind: str) -> int:
    """The width of `i32`, `f16`, a pointer, ...; 0 where we do not know the type."""
    if kind.startswith("!tt.ptr"):
        return 64
    found = re.fullmatch(r"b?[if](\d+)", kind)
    if kind == "index":
        return 64
    return int(found[1]) if found else 0


def is_float(kind: str) -> bool:
    return _FLOAT.match(kind) is not None


def wrap(value: int, bits: int) -> int:
    """Two's complement; an i1 is 0 or 1."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def rounded(value: float, kind: str) -> Scalar:
    """The nearest value of a float type."""
    if value != value:  # noqa: PLR0124 - only a NaN differs from itself
        return NAN
    if kind == "bf16":
        return _to_bfloat16(value)
    code = _CODES.get(bits_of(kind)) if is_float(kind) else None
    if code is None:
        return Unknown(f"arithmetic in {kind}")
    try:
        (found,) = struct.unpack(code, struct.pack(code, value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(found)


def _to_bfloat16(value: float) -> Scalar:
    single = rounded(value, "f32")
    if isinstance(single, Unknown) or math.isinf(single):
        return single
    (bits,) = struct.unpack("<I", struct.pack("<f", single))
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    (found,) = struct.unpack("<f", struct.pack("<I", bits))
    return float(found)


def _divided(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _by_zero(of: Callable[[int, int], int]) -> Callable[[int, int, int], Scalar]:
    def divide(a: int, b: int, bits: int) -> Scalar:
        return wrap(of(a, b), bits) if b else Unknown("a division by zero")

    return divide


def _unsigned_by_zero(of: Callable[[int, int], int]) -> Callable[[int, int, int], Scalar]:
    def divide(a: int, b: int, bits: int) -> Scalar:
        if not b:
            return Unknown("a division by zero")
        return wrap(of(unsigned(a, bits), unsigned(b, bits)), bits)

    return divide


def _shifted(of: Callable[[int, int, int], int]) -> Callable[[int, int, int], Scalar]:
    def shift(a: int, b: int, bits: int) -> Scalar:
        if not 0 <= unsigned(b, bits) < bits:
            return Unknown(f"a shift of an i{bits} by {unsigned(b, bits)}, which is undefined")
        return wrap(of(a, b, bits), bits)

    return shift


INTEGER: dict[str, Callable[[int, int, int], Scalar]] = {
    "addi": lambda a, b, bits: wrap(a + b, bits),
    "subi": lambda a, b, bits: wrap(a - b, bits),
    "muli": lambda a, b, bits: wrap(a * b, bits),
    "divsi": _by_zero(_divided),
    "remsi": _by_zero(lambda a, b: a - b * _divided(a, b)),
    "floordivsi": _by_zero(lambda a, b: a // b),
    "ceildivsi": _by_zero(lambda a, b: -(-a // b)),
    "divui": _unsigned_by_zero(lambda a, b: a // b),
    "remui": _unsigned_by_zero(lambda a, b: a % b),
    "andi": lambda a, b, bits: wrap(a & b, bits),
    "ori": lambda a, b, bits: wrap(a | b, bits),
    "xori": lambda a, b, bits: wrap(a ^ b, bits),
    "shli": _shifted(lambda a, b, _bits: a << b),
    "shrsi": _shifted(lambda a, b, _bits: a >> b),
    "shrui": _shifted(lambda a, b, bits: unsigned(a, bits) >> b),
    "maxsi": lambda a, b, _bits: max(a, b),
    "minsi": lambda a, b, _bits: min(a, b),
    "maxui": lambda a, b, bits: max(a, b, key=lambda value: unsigned(value, bits)),
    "minui": lambda a, b, bits: min(a, b, key=lambda value: unsigned(value, bits)),
}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def compare_integers(predicate: str, a: int, b: int, bits: int) -> int:
    """`slt`, `ule`, `eq`: 0 or 1."""
    if predicate[0] == "u":
        a, b = unsigned(a, bits), unsigned(b, bits)
    return int(COMPARISONS[predicate[-2:]](a, b))


def compare_floats(predicate: str, a: float, b: float) -> int:
    """`olt` is false of a NaN, `ult` is true of it."""
    nan = math.isnan(a) or math.isnan(b)
    if predicate in {"ord", "uno"}:
        return int(nan == (predicate == "uno"))
    if predicate in {"true", "false"}:
        return int(predicate == "true")
    if nan:
        return int(predicate[0] == "u")
    return int(COMPARISONS[predicate[-2:]](a, b))


def float_binary(name: str, a: float, b: float, kind: str) -> Scalar:
    """Addition rounds alike everywhere; a product that rounds may be fused on a GPU."""
    if name in {"addf", "subf"}:
        return rounded(a + b if name == "addf" else a - b, kind)
    if name == "mulf":
        return _exact(a * b, kind, a, b)
    if name in {"maximumf", "minimumf", "maxnumf", "minnumf"}:
        if math.isnan(a) or math.isnan(b):
            return Unknown("a maximum with a NaN")
        return max(a, b) if name.startswith("max") else min(a, b)
    if name == "divf" and b and math.isfinite(a) and math.isfinite(b):
        quotient = rounded(a / b, kind)
        if not isinstance(quotient, Unknown) and quotient * b == a:
            return quotient
    return Unknown(f"the rounding of {name}")


def _exact(value: float, kind: str, *operands: float) -> Scalar:
    found = rounded(value, kind)
    if isinstance(found, Unknown) or (found == value and all(map(math.isfinite, operands))):
        return found
    return Unknown("the rounding of a product")
