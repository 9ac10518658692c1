"""Compiles what a launcher launches, for a GPU that is not there, and reads off what it takes.

Triton is told that the wanted GPU is present, and a launch becomes a compilation. What registers
and spills there are is in the log of the same ptxas run that made the kernel.
"""
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportAttributeAccessIssue=false
#   (because Triton is untyped)

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from kernels.device import Architecture
from kernels.occupancy import Resources

# The driver's own part of each CTA (sm_90 and later) is counted in ptxas's static shared memory.
HANDSHAKE = re.compile(r"\b((?:atom|red|ld|st|fence)[.\w]*\.(?:acquire|release|acq_rel)[.\w]*)")


@dataclass(frozen=True, slots=True)
class Compiled:
    """One kernel as it came out of the compiler."""

    kernel: str
    architecture: Architecture
    need: Resources
    spill_bytes: int  # stored and loaded again, per thread
    handshakes: tuple[str, ...]  # PTX instructions that order memory between CTAs
    ptx: str
    ttir: str


@dataclass(frozen=True, slots=True)
class AbsentGpu:
    """What Triton asks of a driver before it compiles; there is no stream and no launch."""

    architecture: Architecture

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.architecture.capability, 32)

    def get_current_device(self) -> int:
        # Triton keeps compiled kernels per device: an architecture is a device here.
        return self.architecture.capability

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("meta")


def compile_launches(launch: Callable[[], object], architecture: Architecture) -> list[Compiled]:
    """Every kernel that `launch` starts, compiled for the architecture and not run.

    RuntimeError in a process with TRITON_INTERPRET, where kernels are not compilable.
    """
    # Triton 3.10 will turn this off unless told; a launch must not change with the version.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    if triton.knobs.runtime.interpret:
        raise RuntimeError("unset TRITON_INTERPRET: the interpreter compiles nothing")
    triton.runtime.driver.set_active(AbsentGpu(architecture))  # pyright: ignore[reportArgumentType] - the part of a driver that compiling needs
    compiled: list[Compiled] = []
    with _launches_become_compilations(compiled, architecture):
        launch()
    return compiled


@contextlib.contextmanager
def _launches_become_compilations(
    compiled: list[Compiled], architecture: Architecture
) -> Generator[None]:
    kernel_type: Any = triton.JITFunction
    run = kernel_type.run

    def compile_only(kernel: Any, *args: object, **options: object) -> None:  # noqa: ANN401 - Triton is untyped
        kernel.device_caches.clear()  # what comes from a cache has no compiler log
        log = io.StringIO()
        with (
            tempfile.TemporaryDirectory(prefix="pdchaos-aot-") as cache,
            triton.knobs.cache.scope(),
            triton.knobs.nvidia.scope(),
            contextlib.redirect_stdout(log),
        ):
            triton.knobs.cache.dir = cache
            triton.knobs.nvidia.dump_ptxas_log = True
            binary = run(kernel, *args, **{**options, "warmup": True})
        compiled.append(_read(kernel.__name__, architecture, binary, log.getvalue()))

    kernel_type.run = compile_only
    try:
        yield
    finally:
        kernel_type.run = run


def _read(name: str, architecture: Architecture, binary: Any, log: str) -> Compiled:  # noqa: ANN401 - Triton is untyped
    metadata = binary.metadata
    static_bytes = max(0, _number(r"(\d+) bytes smem", log) - architecture.shared_reserved_bytes)
    need = Resources(
        threads=metadata.num_warps * metadata.warp_size,
        registers=_number(r"Used (\d+) registers", log),
        shared_bytes=metadata.shared + static_bytes,
        barriers=_number(r"used (\d+) barriers", log),
        tensor_columns=getattr(metadata, "tmem_size", 0) or 0,
    )
    spilled = _number(r"(\d+) bytes spill stores", log) + _number(r"(\d+) bytes spill loads", log)
    ptx = binary.asm["ptx"]
    handshakes = tuple(sorted(HANDSHAKE.findall(ptx)))
    return Compiled(name, architecture, need, spilled, handshakes, ptx, binary.asm["ttir"])


def _number(pattern: str, log: str) -> int:
    found = re.search(pattern, log)
    return int(found.group(1)) if found else 0
