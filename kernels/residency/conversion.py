"""Numbers from one type to another, as Triton IR's casts do it."""

from __future__ import annotations

from kernels.residency.scalar import Scalar, Unknown, bits_of, is_float, rounded, unsigned, wrap


def converted(value: float, short: str, source: str, target: str) -> Scalar:
    floats = is_float(source), is_float(target)
    if floats == (False, False) and bits_of(source) and bits_of(target):
        plain = int(value)
        if short == "extui" or short.startswith("ptr"):
            plain = unsigned(plain, bits_of(source))
        elif short == "extsi" and source == "i1":
            plain = -plain
        return wrap(plain, bits_of(target))
    if floats == (False, True) and short in {"sitofp", "uitofp"}:
        plain = int(value)
        return rounded(plain if short == "sitofp" else unsigned(plain, bits_of(source)), target)
    if floats == (True, True) and short in {"truncf", "extf"}:
        return rounded(value, target)
    if floats == (True, False) and short in {"fptosi", "fptoui"}:
        whole = int(value) if abs(value) < 2.0**62 else 1 << 63
        signed = short == "fptosi"
        low, high = _limits(bits_of(target), signed=signed)
        if low <= whole <= high:
            return wrap(whole, bits_of(target))
    return Unknown(f"a conversion from {source} to {target}")


def _limits(bits: int, *, signed: bool) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
