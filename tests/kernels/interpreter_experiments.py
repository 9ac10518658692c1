"""Stock interpreter against corrected one, both against torch; see test_interpreter.py.

The stock faults are measured first, in the same process: `install` corrects it for good.
"""
# ruff: noqa: ANN001, ANN201 - Triton's calling convention is untyped
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportOperatorIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch
import triton
import triton.language as tl

from kernels import interpreter
from kernels.turns import taking_turns

COUNT = 1 << 16
SIDE = 16


@triton.jit
def convert(source, target, SIZE: tl.constexpr):  # noqa: N803 - a compile-time constant
    at = tl.arange(0, SIZE)
    tl.store(target + at, tl.load(source + at).to(target.dtype.element_ty))


@triton.jit
def product(a, b, out):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def poll_once(flag, out):
    if tl.program_id(0) == 1:
        tl.atomic_xchg(flag, 1)
    else:
        tl.atomic_poll(flag, 1)
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def order(counter, out):
    at = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)
    tl.store(out + at, tl.atomic_add(counter, 1))


@triton.jit
def doubled(value):
    return value + value


@triton.jit
def nested(out):
    tl.store(out, doubled(doubled(1)))


def hard_values() -> torch.Tensor:
    """Ties, subnormals, carries, both ends and beyond, zeros, infinities and NaN of e4m3."""
    grid = torch.arange(0, 256, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
    grid = grid[torch.isfinite(grid)]
    between = (grid[:, None] + grid[None, :]).flatten() / 2  # every tie, and much else
    noise = torch.randn(COUNT, generator=torch.Generator().manual_seed(0)) * 100
    odd = torch.tensor([0.0, -0.0, 448.0, 464.0, -464.0, 1e9, float("inf"), -float("inf")])
    odd = torch.cat([odd, torch.tensor([float("nan"), 2.0**-10, 2.0**-11, -(2.0**-9)])])
    values = torch.cat([odd, grid, between, noise])[:COUNT]
    return values.contiguous()


def wrong(target: torch.dtype, source: torch.dtype = torch.float32) -> int:
    """How many of the hard values are converted to other bits than torch's."""
    values = hard_values().to(source)
    out = torch.zeros(COUNT, dtype=target)
    convert[1,](values, out, COUNT)
    expected = values.float()
    if target == torch.float8_e4m3fn:  # hardware saturates, torch gives NaN beyond the range
        expected = expected.clamp(-448.0, 448.0)
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[out.element_size()]
    same = out.view(bits) == expected.to(target).view(bits)
    both_nan = out.float().isnan() & expected.isnan()
    return int((~(same | both_nan)).sum())


def dot_error() -> float:
    seeded = torch.Generator().manual_seed(0)
    a, b = (torch.randn(SIDE, SIDE, generator=seeded).bfloat16() for _ in range(2))
    out = torch.zeros(SIDE, SIDE)
    product[1,](a, b, out)
    return float((out - a.float() @ b.float()).abs().max())


def poll_raises() -> str:
    """A CTA that polls before the other one sets the flag; so that only turns can run it."""
    out = torch.zeros(2, dtype=torch.int32)
    with taking_turns():
        poll_once[2,](torch.zeros(1, dtype=torch.int32), out)
    return str(out.tolist())


def stock_poll() -> str:
    """Stock ends on its first miss, with an error of its own."""
    try:
        poll_once[1,](torch.zeros(1, dtype=torch.int32), torch.zeros(2, dtype=torch.int32))
    except interpreter.stock.InterpreterError as error:
        return str(error)
    return "returned"


def launched_in() -> list[int]:
    out = torch.zeros(6, dtype=torch.int32)
    order[2, 3](torch.zeros(1, dtype=torch.int32), out)
    return [int(value) for value in out]


def patches_left() -> bool:
    """Whether triton.language is still patched after a launch with nested device functions."""
    out = torch.zeros(1, dtype=torch.int32)
    nested[1,](out)
    assert out.item() == 4
    return tl.load.__name__ == "<lambda>"


def measured() -> dict[str, object]:
    e4m3 = torch.float8_e4m3fn
    return {
        "bf16": wrong(torch.bfloat16),
        "e4m3": wrong(e4m3),
        "e4m3 from bf16": wrong(e4m3, torch.bfloat16),
        "e4m3 from fp16": wrong(e4m3, torch.float16),
        "dot": dot_error(),
        "order": launched_in(),
        "patched": patches_left(),
    }


def say(name: str, run: Callable[[], object]) -> None:
    sys.stdout.write(json.dumps({name: run()}) + "\n")


if __name__ == "__main__":
    say("stock", measured)
    say("stock poll", stock_poll)
    interpreter.install()
    say("corrected", measured)
    say("poll", poll_raises)
