"""A kernel that the prover has never seen: a source file, and a small file that launches it.

grid = [16]
ctas_per_sm = 1                 # with --gpu; or `resident = 8`, and no GPU is needed
[arguments]
counter = {dtype = "int32", shape = [1]}                 # filled with 0 unless told
order = {dtype = "int32", shape = [16], fill = "arange"}
total = 16                      # a number; a constant of the kernel is written the same way
[options]
num_warps = 4
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
          "float64", "float8_e4m3fn")  # fmt: skip
FILLS = ("arange", "random")
DIMENSIONS_MAX = 5
ELEMENTS_MAX = 1 << 28  # a prover's launch is small; this is a typo
_KEYS = {"grid", "ctas_per_sm", "resident", "arguments", "options"}


@dataclass(frozen=True, slots=True)
class Filled:
    """A tensor argument: its dtype and shape, and what it starts with."""

    dtype: str
    shape: tuple[int, ...]
    fill: float | str

    def on(self, device: str) -> object:
        torch: Any = importlib.import_module("torch")
        dtype = getattr(torch, self.dtype)
        if self.fill == "arange":
            counted = torch.arange(math.prod(self.shape), device=device)
            return counted.reshape(self.shape).to(dtype)
        if self.fill == "random":
            seeded = torch.Generator().manual_seed(0)
            return torch.rand(self.shape, generator=seeded).to(dtype).to(device)
        return torch.full(self.shape, self.fill, dtype=torch.float64, device=device).to(dtype)


Argument = bool | int | float | Filled


@dataclass(frozen=True, slots=True)
class UnseenLaunch:
    """What a launch file says, and the kernel that it is for."""

    source: Path
    kernel: str
    grid: tuple[int, ...]
    arguments: Mapping[str, Argument]
    options: Mapping[str, int]
    ctas_per_sm: int | None
    resident: int | None

    @property
    def ctas(self) -> int:
        return math.prod(self.grid)

    def on(self, device: str) -> Callable[[], object]:
        """A call that launches the kernel; imports its source, torch and Triton.

        ValueError if the source has no such kernel, or other arguments.
        """
        kernel = _load(self.source, self.kernel)
        known = list(kernel.arg_names)
        if unknown := sorted(self.arguments.keys() - set(known)):
            raise ValueError(f"{self.kernel} takes {', '.join(known)}, not {', '.join(unknown)}")

        def launch() -> object:
            values = {  # new each time: a second launch must not find the first one's counters
                name: value.on(device) if isinstance(value, Filled) else value
                for name, value in self.arguments.items()
            }
            return kernel[self.grid](**values, **self.options)

        return launch


def read(source: str, launch: str | None) -> UnseenLaunch:
    """`FILE:KERNEL` and its launch file; ValueError that says what is wrong with either."""
    path, colon, kernel = source.rpartition(":")
    if not colon or not kernel.isidentifier():
        raise ValueError(f"--source: expected FILE:KERNEL, not {source!r}")
    if not Path(path).is_file():
        raise ValueError(f"--source: no file {path}")
    if launch is None or not Path(launch).is_file():
        raise ValueError(f"--launch: expected a launch file for {kernel}, not {launch}")
    told = _table(launch)
    arguments = cast("dict[str, object]", told.get("arguments", {}))
    return UnseenLaunch(
        Path(path).resolve(),
        kernel,
        _sizes(f"{launch}: grid", told.get("grid")),
        {name: _argument(f"{launch}: {name}", value) for name, value in arguments.items()},
        cast("dict[str, int]", told.get("options", {})),
        _count(f"{launch}: ctas_per_sm", told.get("ctas_per_sm")),
        _count(f"{launch}: resident", told.get("resident")),
    )


def _table(launch: str) -> dict[str, object]:
    try:
        told: dict[str, object] = tomllib.loads(Path(launch).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{launch}: not TOML: {error}") from error
    if unknown := sorted(told.keys() - _KEYS):
        raise ValueError(f"{launch}: unknown {', '.join(unknown)}; known: {', '.join(_KEYS)}")
    return told


def _sizes(where: str, value: object) -> tuple[int, ...]:
    sizes = cast("list[object]", value) if isinstance(value, list) else []
    whole = tuple(size for size in sizes if isinstance(size, int) and size >= 1)
    if not 1 <= len(whole) == len(sizes) <= DIMENSIONS_MAX:
        raise ValueError(f"{where}: expected 1 to {DIMENSIONS_MAX} numbers, not {value!r}")
    return whole


def _count(where: str, value: object) -> int | None:
    if value is None or (isinstance(value, int) and value >= 1):
        return value
    raise ValueError(f"{where}: expected a number of at least 1, not {value!r}")


def _argument(where: str, value: object) -> Argument:
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - what a user wrote is wrong, whatever its type
            f"{where}: expected a number, or dtype, shape and fill, not {value!r}"
        )
    told = cast("dict[str, object]", value)
    dtype, fill = str(told.get("dtype", "float32")), told.get("fill", 0)
    if dtype not in DTYPES:
        raise ValueError(f"{where}: dtype {dtype!r}: choose one of {', '.join(DTYPES)}")
    if not isinstance(fill, (int, float)) and fill not in FILLS:
        raise ValueError(f"{where}: fill {fill!r}: a number, or one of {', '.join(FILLS)}")
    shape = _sizes(f"{where}: shape", told.get("shape"))
    if math.prod(shape) > ELEMENTS_MAX:
        raise ValueError(f"{where}: at most {ELEMENTS_MAX} elements")
    return Filled(dtype, shape, cast("float | str", fill))


def _load(path: Path, kernel: str) -> Any:  # noqa: ANN401 - a kernel, of no public type
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, kernel, None)
    if found is None or not hasattr(found, "arg_names"):
        kernels = [name for name, value in vars(module).items() if hasattr(value, "arg_names")]
        raise ValueError(f"{path.name} has no kernel {kernel!r}: it has {', '.join(kernels)}")
    return found
