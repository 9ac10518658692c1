"""What the static scan says of tiny and of shipped kernels; see experiments.py.

Runs without the interpreter: the parent's TRITON_INTERPRET is taken back before Triton is imported.
"""
# pyright: reportMissingTypeStubs=false
#   (because Triton has none)

from __future__ import annotations

import json
import os
import sys
from typing import Any, cast

os.environ.pop("TRITON_INTERPRET", None)

import torch
import waiting_kernels

from kernels import gqa_decode, mla_decode, v4_decode
from kernels.configurations import shipped
from kernels.frontend import compiled_launches

KERNELS = cast("dict[str, Any]", vars(waiting_kernels))
POINTERS = {"counter", "out", "held", "flag", "flags", "beat", "following"}


def tiny() -> dict[str, list[str]]:
    """By kernel, its waits in words."""
    found: dict[str, list[str]] = {}
    for name, kernel in KERNELS.items():
        if not hasattr(kernel, "arg_names"):
            continue
        values = [
            torch.empty(16, dtype=torch.int32, device="meta") if argument in POINTERS else 5
            for argument in kernel.arg_names
        ]
        (it,) = compiled_launches(lambda kernel=kernel, values=values: kernel[1,](*values))
        found[name] = [*map(str, it.waits), *(f"{wait}, removed" for wait in it.removed)]
    return found


def decode() -> dict[str, list[str]]:
    """By bf16 decode configuration, the kernels of its launch that wait."""
    return {
        configuration.name: [
            each.kernel for each in compiled_launches(configuration.launch) if each.waits
        ]
        for configuration in shipped()
        if "decode" in configuration.name and "bf16" in configuration.name
    }


def tiles() -> dict[str, tuple[int, int]]:
    """By kernel, its KV block and how many query heads (or KV heads) one CTA takes."""
    return {
        "mla_decode": (mla_decode.BLOCK_TOKENS, mla_decode.TILE_HEADS),
        "v4_decode": (v4_decode.BLOCK_TOKENS, v4_decode.TILE_HEADS),
        "gqa_decode": (gqa_decode.block_tokens_for(128), 8),
        "gqa_decode-d64": (gqa_decode.block_tokens_for(64), 8),
    }


if __name__ == "__main__":
    for name in sys.argv[1:] or ("tiny", "decode"):
        answer = {"tiles": tiles, "tiny": tiny, "decode": decode}[name]()
        sys.stdout.write(json.dumps({name: answer}) + "\n")
