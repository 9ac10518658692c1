"""Takes launches through Triton's front end only: source to inlined IR, in no time.

A process of its own (`python -m kernels.frontend`), because the interpreter and the compiler
exclude each other. Prints what the static scan finds as one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, replace
from typing import Any

from kernels.wait_scan import Wait, waits


@dataclass(frozen=True, slots=True)
class Scanned:
    """One kernel of a launch, and where it waits for another CTA."""

    kernel: str
    waits: tuple[Wait, ...]


class _Stopped(Exception):
    """Carries the IR out of the compiler: as the front end made it, and inlined."""

    def __init__(self, raw: str, inlined: str) -> None:
        super().__init__("stopped on purpose")
        self.raw = raw
        self.inlined = inlined


def scan_launches(launch: Callable[[], object], capability: int = 120) -> list[Scanned]:
    """The waits of every kernel that `launch` starts on tensors without storage.

    Imports Triton, which must not have been told to interpret.
    """
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    triton: Any = importlib.import_module("triton")
    compilation: Any = importlib.import_module("kernels.compilation")
    device: Any = importlib.import_module("kernels.device")
    by_capability = {each.capability: each for each in device.ARCHITECTURES}
    triton.runtime.driver.set_active(compilation.AbsentGpu(by_capability[capability]))
    scanned: list[Scanned] = []
    with _stop_after_inlining(triton, scanned):
        launch()
    return scanned


@contextlib.contextmanager
def _stop_after_inlining(triton: Any, scanned: list[Scanned]) -> Generator[None]:  # noqa: ANN401 - Triton is untyped
    kernel_type, run = triton.JITFunction, triton.JITFunction.run

    def scan_only(kernel: Any, *args: object, **options: object) -> None:  # noqa: ANN401 - likewise
        try:
            run(kernel, *args, **{**options, "warmup": True})
        except _Stopped as stopped:
            scanned.append(Scanned(kernel.__name__, _waits(stopped)))

    with triton.knobs.runtime.scope(), triton.knobs.compilation.scope():
        triton.knobs.runtime.add_stages_inspection_hook = _first_stage_only
        triton.knobs.compilation.always_compile = True
        kernel_type.run = scan_only
        try:
            yield
        finally:
            kernel_type.run = run


def _waits(stopped: _Stopped) -> tuple[Wait, ...]:
    """Inlined IR tells more, but inlining cleans up, and that removes loops of plain loads."""
    gone = " that the compiler removes, so that a GPU would not wait"
    return waits(stopped.inlined) or tuple(
        replace(wait, by=wait.by + gone) for wait in waits(stopped.raw)
    )


def _first_stage_only(*arguments: Any) -> tuple[str, str]:  # noqa: ANN401 - Triton is untyped
    """Triton asks without arguments for a cache key, and with five for changed stages."""
    if arguments:
        stages: dict[str, Callable[..., object]] = arguments[1]
        stages["ttir"] = _inline_and_stop
    return "front-end", "front-end"


def _inline_and_stop(module: Any, _metadata: object) -> None:  # noqa: ANN401 - Triton is untyped
    raw = str(module)
    binding: Any = importlib.import_module("triton._C.libtriton")
    passes = binding.ir.pass_manager(module.context)
    binding.passes.common.add_inliner(passes)
    passes.run(module, "inline")
    raise _Stopped(raw, str(module))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels.frontend", description=__doc__)
    parser.add_argument("--configuration", help="a row of the AOT table")
    parser.add_argument("--source", help="FILE:KERNEL, with --launch")
    parser.add_argument("--launch", help="launch file")
    parser.add_argument("--capability", type=int, default=120)
    chosen = parser.parse_args(arguments)
    if chosen.source:
        unseen: Any = importlib.import_module("kernels.unseen")
        launch = unseen.read(chosen.source, chosen.launch).on("meta")
    else:
        launch = _shipped(chosen.configuration)
    found = scan_launches(launch, chosen.capability)
    print(json.dumps([asdict(each) for each in found]))  # noqa: T201 - the answer of this process
    return 0


def _shipped(name: str) -> Callable[[], object]:
    configurations: Any = importlib.import_module("kernels.configurations")
    for configuration in configurations.shipped():
        if configuration.name == name:
            return configuration.launch
    raise ValueError(f"no shipped configuration {name!r}")


def read_answer(text: str) -> list[Scanned]:
    """What `main` printed."""
    return [
        Scanned(each["kernel"], tuple(Wait(**wait) for wait in each["waits"]))
        for each in json.loads(text.splitlines()[-1])
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
