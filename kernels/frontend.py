"""Takes launches through Triton's front end: from source to optimised IR, in no time.

A process of its own (`python -m kernels.frontend OUT WHAT`), since a source that nobody has seen
may do anything: exit, crash, or never come back. It answers in the file OUT, one JSON object:
`launches`, or what the user got wrong as `refused`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from kernels.compiled_launch import Argument, CompiledLaunch, TensorArgument, written
from kernels.wait_scan import waits

TOLD_MAX = 1 << 16  # elements of a tensor whose contents are told
_ELEMENTS = {"int8": "i8", "uint8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
             "bool": "i8", "float16": "f16", "bfloat16": "bf16", "float32": "f32",
             "float64": "f64", "float8_e4m3fn": "f8E4M3FN"}  # fmt: skip
Contents = Mapping[int, "list[float] | float"]  # by id of a tensor that has no storage


class _Stopped(Exception):
    """Carries the IR out of the compiler: as the front end made it, and optimised."""

    def __init__(self, raw: str, optimised: str) -> None:
        super().__init__("stopped on purpose")
        self.raw = raw
        self.optimised = optimised


def compiled_launches(
    launch: Callable[[], object], capability: int = 120, contents: Contents | None = None
) -> list[CompiledLaunch]:
    """Every kernel that `launch` starts, as IR. Nothing is run.

    Imports Triton, which must not have been told to interpret.
    """
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    triton: Any = importlib.import_module("triton")
    compilation: Any = importlib.import_module("kernels.compilation")
    device: Any = importlib.import_module("kernels.device")
    by_capability = {each.capability: each for each in device.ARCHITECTURES}
    triton.runtime.driver.set_active(compilation.AbsentGpu(by_capability[capability]))
    found: list[CompiledLaunch] = []
    with _stopping_at_the_ir(triton, found, contents or {}):
        launch()
    return found


@contextlib.contextmanager
def _stopping_at_the_ir(
    triton: Any,  # noqa: ANN401 - Triton is untyped
    found: list[CompiledLaunch],
    contents: Contents,
) -> Generator[None]:
    kernel_type, run = triton.JITFunction, triton.JITFunction.run

    def compile_only(kernel: Any, *args: object, **options: Any) -> None:  # noqa: ANN401 - likewise
        try:
            run(kernel, *args, **{**options, "warmup": True})
        except _Stopped as stopped:
            given = dict(zip(kernel.arg_names, args, strict=False)) | options
            found.append(_launch(kernel, given, stopped, contents))

    with triton.knobs.runtime.scope(), triton.knobs.compilation.scope():
        triton.knobs.runtime.add_stages_inspection_hook = _only_the_ir
        triton.knobs.compilation.always_compile = True
        kernel_type.run = compile_only
        try:
            yield
        finally:
            kernel_type.run = run


def _only_the_ir(*arguments: Any) -> tuple[str, str]:  # noqa: ANN401 - Triton is untyped
    """Triton asks without arguments for a cache key, and with five for changed stages."""
    if arguments:
        stages: dict[str, Callable[..., Any]] = arguments[1]
        optimise = stages["ttir"]

        def stop(module: Any, metadata: object) -> None:  # noqa: ANN401 - Triton is untyped
            raw = str(module)
            raise _Stopped(raw, str(optimise(module, metadata)))

        stages["ttir"] = stop
    return "front-end", "front-end"


def _launch(
    kernel: Any,  # noqa: ANN401 - Triton is untyped
    given: Mapping[str, Any],
    stopped: _Stopped,
    contents: Contents,
) -> CompiledLaunch:
    grid: Any = given["grid"]
    sizes: Any = grid(given) if callable(grid) else grid
    x, y, z = (*sizes, 1, 1)[:3]
    there = waits(stopped.optimised)
    kept = {wait.place for wait in there}
    removed = [str(wait) for wait in waits(stopped.raw) if wait.place not in kept]
    arguments: dict[str, Argument] = {}
    for name in kernel.arg_names:
        value = given.get(name)
        if hasattr(value, "data_ptr"):
            arguments[name] = _tensor(value, contents)
        elif isinstance(value, (int, float)):
            arguments[name] = value
    return CompiledLaunch(
        kernel.__name__, (x, y, z), arguments, stopped.optimised, there, tuple(removed)
    )


def _tensor(tensor: Any, contents: Contents) -> TensorArgument:  # noqa: ANN401 - torch's
    element = _ELEMENTS.get(str(tensor.dtype).removeprefix("torch."), str(tensor.dtype))
    count = tensor.numel()
    held: list[float] | float | None = contents.get(id(tensor))
    if held is None and tensor.device.type == "cpu" and count <= TOLD_MAX:
        held = [] if element.startswith("f8") else tensor.flatten().tolist()
        held = held or None
    return TensorArgument(element, count, held)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels.frontend", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--shipped", help="a shipped launch, as JSON")
    parser.add_argument("--source", help="FILE:KERNEL, with --launch")
    parser.add_argument("--launch", help="launch file")
    parser.add_argument("--capability", type=int, default=120)
    chosen = parser.parse_args(arguments)
    contents: dict[int, list[float] | float] = {}
    gc.disable()  # of a short life, most goes into importing, where nothing is garbage
    try:
        if chosen.source:
            unseen: Any = importlib.import_module("kernels.unseen")
            launch = unseen.read(chosen.source, chosen.launch).call(contents)
        else:
            shipped: Any = importlib.import_module("kernels.shipped_launch")
            launch = shipped.call(**json.loads(chosen.shipped))
        answer = (
            f'{{"launches": {written(compiled_launches(launch, chosen.capability, contents))}}}'
        )
    except ValueError as error:
        answer = json.dumps({"refused": str(error)})
    chosen.out.write_text(answer, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
