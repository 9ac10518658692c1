"""A tensor argument of a launch file: its dtype and shape, and what it starts with."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any, cast

INTEGERS = {
    "bool": (0, 1), "int8": (-(1 << 7), (1 << 7) - 1), "uint8": (0, (1 << 8) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1), "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}  # fmt: skip
DTYPES = (*INTEGERS, "float16", "bfloat16", "float32", "float64", "float8_e4m3fn")
FILLS = ("arange", "random")
DIMENSIONS_MAX = 5
ELEMENTS_MAX = 1 << 28  # a prover's launch is small; this is a typo
TOLD_MAX = 1 << 16  # elements that are told one by one
_KEYS = {"dtype", "shape", "fill"}


@dataclass(frozen=True, slots=True)
class Filled:
    """A tensor argument: its dtype and shape, and what it starts with."""

    dtype: str
    shape: tuple[int, ...]
    fill: float | str

    def empty(self) -> Any:  # noqa: ANN401 - a tensor without storage; torch is not known here
        torch: Any = importlib.import_module("torch")
        return torch.empty(self.shape, dtype=getattr(torch, self.dtype), device="meta")

    def contents(self) -> list[float] | float | None:
        """All elements, or one number for all; None: too many to tell."""
        if not isinstance(self.fill, str):
            return self.fill
        count = math.prod(self.shape)
        if count > TOLD_MAX:
            return None
        if self.fill == "arange":
            return [float(value) if "float" in self.dtype else value for value in range(count)]
        torch: Any = importlib.import_module("torch")
        seeded = torch.rand(self.shape, generator=torch.Generator().manual_seed(0))
        return seeded.to(getattr(torch, self.dtype)).double().flatten().tolist()


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def sizes(where: str, value: object, dimensions_max: int) -> tuple[int, ...]:
    given = cast("list[object]", value) if isinstance(value, list) else []
    whole = tuple(cast("int", size) for size in given if is_whole(size) and cast("int", size) >= 1)
    if not 1 <= len(whole) == len(given) <= dimensions_max:
        raise ValueError(
            f"{where}: expected 1 to {dimensions_max} numbers of at least 1, not {value!r}"
        )
    return whole


def filled(where: str, told: dict[str, object]) -> Filled:
    """ValueError, beginning with where it stands, for what cannot be a tensor."""
    if unknown := sorted(told.keys() - _KEYS):
        raise ValueError(f"{where}: unknown {', '.join(unknown)}; known: dtype, shape, fill")
    dtype = str(told.get("dtype"))
    if dtype not in DTYPES:
        raise ValueError(f"{where}: dtype {dtype!r}: choose one of {', '.join(DTYPES)}")
    shape = sizes(f"{where}: shape", told.get("shape"), DIMENSIONS_MAX)
    if math.prod(shape) > ELEMENTS_MAX:
        raise ValueError(f"{where}: at most {ELEMENTS_MAX} elements")
    fill = told.get("fill", 0)
    is_number = isinstance(fill, (int, float)) and not isinstance(fill, bool)
    if not is_number and fill not in FILLS:
        raise ValueError(f"{where}: fill {fill!r}: a number, or one of {', '.join(FILLS)}")
    if dtype in INTEGERS:
        _require_held(where, dtype, math.prod(shape), fill)
    return Filled(dtype, shape, cast("float | str", fill))


def _require_held(where: str, dtype: str, count: int, fill: object) -> None:
    """ValueError unless elements of an integer dtype can be what they are to be filled with."""
    low, high = INTEGERS[dtype]
    if fill == "random":
        raise ValueError(f"{where}: fill 'random' is from 0 to 1: {dtype} holds none of it")
    last = count - 1 if fill == "arange" else fill
    if not is_whole(last) or not low <= cast("int", last) <= high:
        raise ValueError(f"{where}: {dtype} holds whole numbers from {low} to {high}, not {last!r}")
