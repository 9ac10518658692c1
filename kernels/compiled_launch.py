"""A launch as it leaves Triton's front end: IR, grid, arguments. What one process hands another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from kernels.wait_scan import Wait


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """`contents`: all elements, or one number for all of them; None: not told."""

    element: str  # as Triton IR has it: "i32", "bf16"
    count: int
    contents: Sequence[float] | float | None


Argument = TensorArgument | int | float


@dataclass(frozen=True, slots=True)
class CompiledLaunch:
    """One kernel, launched once."""

    kernel: str
    grid: tuple[int, int, int]
    arguments: dict[str, Argument]
    ttir: str
    waits: tuple[Wait, ...]  # by the IR's text alone
    removed: tuple[str, ...]  # waits of the source that the compiler removed

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


def written(launches: Sequence[CompiledLaunch]) -> str:
    return json.dumps([asdict(each) for each in launches])


def read(text: str) -> list[CompiledLaunch]:
    """What `written` wrote."""
    return [
        CompiledLaunch(
            each["kernel"],
            tuple(each["grid"]),
            {name: _argument(value) for name, value in each["arguments"].items()},
            each["ttir"],
            tuple(Wait(**wait) for wait in each["waits"]),
            tuple(each["removed"]),
        )
        for each in json.loads(text)
    ]


def _argument(value: Any) -> Argument:  # noqa: ANN401 - what JSON holds
    if not isinstance(value, dict):
        return value
    told = cast("dict[str, Any]", value)
    return TensorArgument(told["element"], told["count"], told["contents"])
