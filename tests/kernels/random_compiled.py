"""What random kernels store, by their compiled IR; see random_kernels.py."""
# pyright: reportMissingTypeStubs=false
#   (because Triton has none)

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

import torch
from random_kernels import KERNELS, OUTS, arguments, module

from kernels.frontend import compiled_launches
from kernels.residency.launching import launch_of


def stored(kernel: Any, given: tuple[int, ...]) -> list[object]:  # noqa: ANN401 - Triton's
    """What one CTA leaves in `out` and in the counter."""
    out, counter = torch.zeros(OUTS, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    (compiled,) = compiled_launches(lambda: kernel[1,](out, counter, *given))
    launch = launch_of(compiled, whole=True)
    play = launch.play(1)
    while play.unstarted or play.residents:
        play.turn(0)
    memory = launch.machine.memory
    held = {name: memory.read(play.cells, slot) for slot, name in enumerate(memory.names)}
    return [held.get(cell, 0) for cell in [*(f"out[{at}]" for at in range(OUTS)), "counter[0]"]]


if __name__ == "__main__":
    found = module()
    for number in range(KERNELS):
        said = stored(getattr(found, f"k{number}"), arguments(number))
        sys.stdout.write(json.dumps({f"k{number}": said}, default=str) + "\n")
