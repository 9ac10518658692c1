"""Which kernels the embedded engine runs: Triton on a GPU, torch on a CPU, or the interpreter.

PDCHAOS_KERNELS=interpret runs the Triton source in its interpreter on tensors of the CPU, and
=reference runs torch wherever the tensors are; unset, the tensors' device decides. One sequence at
a time; `eager` says what the arguments are.
"""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType

from torch import Tensor

from kernels import eager

KNOB = "PDCHAOS_KERNELS"
WORDS = ("reference", "triton", "interpret")


def paged_prefill_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, context: int
) -> Tensor:
    """Causal attention of [tokens, heads, dim] queries at positions context, context + 1, ..."""
    kernels = _kernels(query)
    return kernels.paged_prefill_attention(query, key_pages, value_pages, block_table, context)


def paged_decode_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, length: int
) -> Tensor:
    """Attention of one [heads, dim] query over the first `length` positions of its pages."""
    kernels = _kernels(query)
    return kernels.paged_decode_attention(query, key_pages, value_pages, block_table, length)


def kv_write(
    key: Tensor, value: Tensor, key_pages: Tensor, value_pages: Tensor, page: int, offset: int
) -> None:
    """Store [tokens, kv_heads, dim] keys and values in one page, from slot `offset` on."""
    _kernels(key).kv_write(key, value, key_pages, value_pages, page, offset)


def page_pack(cache: Tensor, page: int) -> tuple[Tensor, int]:
    """One page of [pages, ...] as flat bytes on the host, and their checksum."""
    return _kernels(cache).page_pack(cache, page)


def page_unpack(cache: Tensor, page: int, payload: Tensor) -> int:
    """Write flat bytes into one page; the checksum is of what was written."""
    return _kernels(cache).page_unpack(cache, page, payload)


def _kernels(where: Tensor) -> ModuleType:
    return _chosen(os.environ.get(KNOB, ""), where.device.type)


@cache
def _chosen(word: str, device: str) -> ModuleType:
    """The module that has the kernels; ValueError for a word or a device that has none."""
    if word not in {"", *WORDS}:
        raise ValueError(f"{KNOB}: expected one of {', '.join(WORDS)}, not {word!r}")
    if word == "interpret":
        _interpret(device)
    elif word == "reference" or (word == "" and device == "cpu"):
        return eager
    elif device == "cpu":
        raise ValueError(f"{KNOB}=triton needs a GPU: use interpret or reference on a CPU")
    from kernels import launched  # noqa: PLC0415 - Triton is not needed until here

    return launched


def _interpret(device: str) -> None:
    """Make this process's Triton an interpreter; ValueError for tensors that are not on the CPU."""
    if device != "cpu":
        raise ValueError(f"{KNOB}=interpret runs on the CPU, the tensors are on {device}")
    # Before Triton's first import, which is where it decides how kernels run.
    os.environ["TRITON_INTERPRET"] = "1"
    from kernels import interpreter  # noqa: PLC0415 - see above

    interpreter.install()
