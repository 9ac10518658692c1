"""Types of Triton IR, and values of them: a number, or a tensor's numbers in row-major order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kernels.residency.scalar import Scalar, Unknown

Value = Scalar | tuple[Scalar, ...]
Evaluator = Callable[[tuple[Value, ...]], Value]
_TENSOR = re.compile(r"^tensor<((?:\d+x)+)(.+)>$")
_BRACES = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Type:
    """An element type, and the shape of a tensor; () of a number."""

    element: str
    shape: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def pointed(self) -> str:
        """What a pointer points to."""
        return self.element.removeprefix("!tt.ptr<").partition(",")[0].removesuffix(">")


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    text = text.strip()
    found = _TENSOR.match(text)
    if found is None:
        return Type(text)
    shape = tuple(int(size) for size in found[1].rstrip("x").split("x"))
    return Type(found[2], shape)


@lru_cache(maxsize=4096)
def signature(text: str) -> tuple[Type, ...]:
    """The types behind an operation, in order: `(a, b) -> c`, `a to b`, `a, b`."""
    behind = _BRACES.sub("", text).rpartition(" : ")[2]
    spread = behind.replace(" -> ", ",").replace(" to ", ",").replace("(", "").replace(")", "")
    return tuple(parse_type(part) for part in _top_level(spread) if part.strip())


def _top_level(text: str) -> list[str]:
    """Split at commas that are not inside angle brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def elements(value: Value, count: int) -> Sequence[Scalar]:
    """As many numbers as asked for: a number stands for a tensor full of it."""
    return value if isinstance(value, tuple) else (value,) * count


def unknown(why: str) -> Evaluator:
    """Of an operation whose result cannot be told."""
    result = Unknown(why)
    return lambda _operands: result


def lifted(of: Callable[..., Scalar], *values: Value) -> Value:
    """Apply a function of numbers to numbers or tensors, element by element."""
    counts = [len(value) for value in values if isinstance(value, tuple)]
    if not counts:
        return of(*values)
    columns = [elements(value, max(counts)) for value in values]
    return tuple(of(*row) for row in zip(*columns, strict=True))


def index_of(place: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Where in a tensor of this shape the row-major position is."""
    index: list[int] = []
    for size in reversed(shape):
        index.append(place % size)
        place //= size
    return tuple(reversed(index))


def place_of(index: Sequence[int], shape: Sequence[int]) -> int:
    place = 0
    for at, size in zip(index, shape, strict=True):
        place = place * size + at
    return place
