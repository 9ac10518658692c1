"""A kernel that the prover has never seen: a source file, and a small file that launches it.

grid = [16]
ctas_per_sm = 1                 # with --gpu; or `resident = 8`, and no GPU is needed
[arguments]
counter = {dtype = "int32", shape = [1]}                 # filled with 0 unless told
order = {dtype = "int32", shape = [16], fill = "arange"}
total = 16                      # a number; a constant of the kernel is written the same way
[options]
num_warps = 4

The file is checked against the kernel's own signature, and against Triton's options.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from kernels.filled import Filled, filled, is_whole, sizes

GRID_MAX = ((1 << 31) - 1, 65_535, 65_535)  # of CUDA, by dimension
WARPS_MAX = 32  # of a CTA: 1024 threads
STAGES_MAX = 16
_KEYS = {"grid", "ctas_per_sm", "resident", "arguments", "options"}
_INTEGERS = (-(1 << 63), (1 << 64) - 1)  # what a number can be for Triton


Argument = bool | int | float | Filled
Contents = dict[int, "list[float] | float"]


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

    def call(self, contents: Contents) -> Callable[[], object]:
        """A call that launches the kernel on tensors without storage; what they hold is noted by
        identity. Imports the source, torch and Triton.

        ValueError if the source has no such kernel, or the launch does not fit it.
        """
        kernel = _load(self.source, self.kernel)
        _require_arguments(self.kernel, kernel, self.arguments)
        _require_options(self.options)
        values: dict[str, object] = {}
        for name, value in self.arguments.items():
            values[name] = value.empty() if isinstance(value, Filled) else value
            held = value.contents() if isinstance(value, Filled) else None
            if held is not None:
                contents[id(values[name])] = held

        def launch() -> object:
            try:
                return kernel[self.grid](**values, **self.options)
            except importlib.import_module("triton").compiler.errors.TritonError as error:
                raise ValueError(f"Triton refuses {self.kernel}: {_cause(error)}") from error

        return launch


def _cause(error: BaseException) -> str:
    """The last line that says something, of a message that shows the source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    return " / ".join([lines[0], lines[-1]]) if lines else repr(error)


def read(source: str, launch: str | None) -> UnseenLaunch:
    """`FILE:KERNEL` and its launch file; ValueError that says what is wrong with either."""
    path, colon, kernel = source.rpartition(":")
    if not colon or not kernel.isidentifier():
        raise ValueError(f"--source: expected FILE:KERNEL, not {source!r}")
    if not Path(path).is_file():
        raise ValueError(f"--source: no file {path}")
    if launch is None or not Path(launch).is_file():
        raise ValueError(f"--launch: expected a launch file for {kernel}, not {launch}")
    return from_table(Path(path).resolve(), kernel, launch, _file(launch))


def from_table(source: Path, kernel: str, launch: str, told: dict[str, object]) -> UnseenLaunch:
    """What a launch file's table says; `launch` is how to call it in a message."""
    if unknown := sorted(told.keys() - _KEYS):
        raise ValueError(
            f"{launch}: unknown {', '.join(unknown)}; known: {', '.join(sorted(_KEYS))}"
        )
    arguments = _table(f"{launch}: arguments", told.get("arguments", {}))
    options = _table(f"{launch}: options", told.get("options", {}))
    return UnseenLaunch(
        source,
        kernel,
        _grid(f"{launch}: grid", told.get("grid")),
        {name: _argument(f"{launch}: {name}", value) for name, value in arguments.items()},
        {name: _option(f"{launch}: {name}", value) for name, value in options.items()},
        _count(f"{launch}: ctas_per_sm", told.get("ctas_per_sm")),
        _count(f"{launch}: resident", told.get("resident")),
    )


def _file(launch: str) -> dict[str, object]:
    try:
        told: dict[str, object] = tomllib.loads(Path(launch).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{launch}: not TOML: {error}") from error
    return told


def _table(where: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected a table, not {value!r}")  # noqa: TRY004 - a user's
    return cast("dict[str, object]", value)


def _grid(where: str, value: object) -> tuple[int, ...]:
    grid = sizes(where, value, len(GRID_MAX))
    for size, most in zip(grid, GRID_MAX, strict=False):
        if size > most:
            raise ValueError(f"{where}: at most {most} in that dimension, not {size}")
    return grid


def _count(where: str, value: object) -> int | None:
    if value is None or (is_whole(value) and cast("int", value) >= 1):
        return cast("int | None", value)
    raise ValueError(f"{where}: expected a number of at least 1, not {value!r}")


def _option(where: str, value: object) -> int:
    if not isinstance(value, (bool, int)):
        raise ValueError(f"{where}: expected a number, not {value!r}")  # noqa: TRY004 - a user's
    return value


def _argument(where: str, value: object) -> Argument:
    if is_whole(value) and not _INTEGERS[0] <= cast("int", value) <= _INTEGERS[1]:
        raise ValueError(f"{where}: {value} does not fit into 64 bits")
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - what a user wrote is wrong, whatever its type
            f"{where}: expected a number, or dtype, shape and fill, not {value!r}"
        )
    return filled(where, cast("dict[str, object]", value))


def _require_arguments(name: str, kernel: Any, given: Mapping[str, Argument]) -> None:  # noqa: ANN401 - Triton's
    parameters = inspect.signature(kernel.fn).parameters
    if unknown := sorted(given.keys() - parameters.keys()):
        raise ValueError(f"{name} takes {', '.join(parameters)}, not {', '.join(unknown)}")
    needed = [key for key, each in parameters.items() if each.default is inspect.Parameter.empty]
    if missing := [key for key in needed if key not in given]:
        raise ValueError(f"{name} also takes {', '.join(missing)}: the launch file has none")
    for parameter in kernel.params:
        if parameter.is_constexpr and isinstance(given.get(parameter.name), Filled):
            raise ValueError(f"{name}: {parameter.name} is a constant, not a tensor")
        if not parameter.is_constexpr and isinstance(given.get(parameter.name), bool):
            raise ValueError(f"{name}: {parameter.name}: expected a number, not a boolean")


def _require_options(options: Mapping[str, int]) -> None:
    backend: Any = importlib.import_module("triton.backends.nvidia.compiler")
    known = backend.CUDAOptions.__dataclass_fields__
    if unknown := sorted(options.keys() - known.keys()):
        raise ValueError(f"Triton has no option {', '.join(unknown)}: num_warps, num_stages, ...")
    if options.get("num_ctas", 1) != 1 or isinstance(options.get("num_ctas"), bool):
        raise ValueError("num_ctas: expected 1: how many clusters are resident is not known here")
    bounds = {"num_warps": WARPS_MAX, "num_stages": STAGES_MAX}
    for name, most in bounds.items():
        value = options.get(name, 1)
        if isinstance(value, bool) or not 1 <= value <= most:
            raise ValueError(f"{name}: expected 1 to {most}, not {value!r}")
        if name != "num_stages" and value & (value - 1):
            raise ValueError(f"{name}: expected a power of two, not {value}")


def _load(path: Path, kernel: str) -> Any:  # noqa: ANN401 - a kernel, of no public type
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"--source: {path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # for what lies beside it, as if it were run
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(
            f"--source: {path.name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, kernel, None)
    if found is None or not hasattr(found, "arg_names"):
        kernels = [name for name, value in vars(module).items() if hasattr(value, "arg_names")]
        raise ValueError(f"{path.name} has no kernel {kernel!r}: it has {', '.join(kernels)}")
    return found
