"""What random kernels store, by Triton's interpreter; see random_kernels.py."""
# pyright: reportMissingTypeStubs=false
#   (because Triton has none)

from __future__ import annotations

import json
import sys

import torch
from random_kernels import KERNELS, OUTS, arguments, module

from kernels import interpreter

if __name__ == "__main__":
    interpreter.install()
    found = module()
    for number in range(KERNELS):
        out, counter = torch.zeros(OUTS, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        getattr(found, f"k{number}")[1,](out, counter, *arguments(number))
        sys.stdout.write(
            json.dumps({f"k{number}": [int(value) for value in (*out, *counter)]}) + "\n"
        )
