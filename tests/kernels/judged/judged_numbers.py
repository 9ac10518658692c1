"""Numbers as the compiled kernel has them: what is passed, what wraps, what is flushed to zero.

Launched by `numbers.toml`. Compiled, never run.
"""
# ruff: noqa: ANN001, ANN201 - Triton's calling convention is untyped
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

import triton
import triton.language as tl


@triton.jit
def tenth_given(counter, x):
    """One CTA adds what it is given and waits to see it."""
    tl.atomic_add(counter, x)
    while tl.atomic_add(counter, 0.0) != x:
        pass


@triton.jit
def bool_flags(flags):
    pid = tl.program_id(0)
    if pid > 0:
        while tl.load(flags + pid - 1, volatile=True) == 0:
            pass
    tl.store(flags + pid, 1)


@triton.jit
def tiny_steps(counter, x):
    tl.atomic_add(counter, x)
    while tl.atomic_add(counter, 0.0) == 0.0:
        pass


@triton.jit
def big_target(counter, target):
    while tl.atomic_add(counter, 0) != target:
        pass


@triton.jit
def plain_next_counted(flags, out):
    """Waits for the next by plain loads; the count is kept, and with it the loop."""
    pid = tl.program_id(0)
    turns = 0
    if pid < tl.num_programs(0) - 1:
        while tl.load(flags + pid + 1) == 0:
            turns += 1
    tl.store(out + pid, turns)
    tl.store(flags + pid, 1)


@triton.jit
def odd_range(out, high):
    """The count goes beyond int32: the loop never reaches its end."""
    n = 0
    for _ in range(2147483640, high, 5):
        n += tl.load(out + 1)
    tl.store(out, n)


@triton.jit
def odd_range_waits(out, high):
    for _ in range(2147483640, high, 5):
        tl.atomic_add(out, 1)
    while tl.atomic_add(out, 0) < 0:
        pass


@triton.jit
def plain_barrier(counter, out, total):
    """A barrier that reads by plain loads; the count of turns keeps the loop."""
    tl.atomic_add(counter, 1)
    turns = 0
    while tl.load(counter) < total:
        turns += 1
    tl.store(out + tl.program_id(0), turns)


@triton.jit
def approximate_place(values, out):
    """Writes where an approximation points to."""
    at = tl.exp2(tl.load(values + tl.program_id(0))).to(tl.int32)
    tl.store(out + at, 1)
