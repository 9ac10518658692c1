"""Loops that end, or do not, in registers; accesses beyond an argument; reductions and scans.

Launched by `blind.toml`; written by somebody who had not read the prover. Compiled, never run.
"""
# ruff: noqa: ANN001, ANN201, SIM108 - Triton's calling convention is untyped; how it branches is what
#   the prover is asked
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

import triton
import triton.language as tl


@triton.jit
def collatz(start, out):
    """Ends for every start that is known, but not for 0."""
    x = tl.load(start)
    steps = 0
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(out, steps)


@triton.jit
def shifted_away(start, out):
    """An arithmetic shift keeps the sign: -1 stays -1."""
    x = tl.load(start)
    steps = 0
    while x != 0:
        x = x >> 1
        steps += 1
    tl.store(out, steps)


@triton.jit
def upward(start, out):
    """Ends where int32 wraps."""
    x = tl.load(start)
    steps = 0
    while x > 0:
        x += 1
        steps += 1
    tl.store(out, steps)


@triton.jit
def euclid(a, b, out):
    """The greatest common divisor: ends for everything."""
    x = tl.load(a)
    y = tl.load(b)
    while y != 0:
        rest = x % y
        x = y
        y = rest
    tl.store(out, x)


@triton.jit
def jacobi(values, out, eps, n: tl.constexpr):
    """Halves a vector until its greatest element is below eps."""
    x = tl.load(values + tl.arange(0, n))
    steps = 0
    while tl.max(x) > eps:
        x = x * 0.5
        steps += 1
    tl.store(out, steps)


@triton.jit
def unmasked_tail(out, n: tl.constexpr):
    tl.store(out + tl.program_id(0) * n + tl.arange(0, n), 1)


@triton.jit
def masked_tail(out, size, n: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, n)
    tl.store(out + at, 1, mask=at < size)


@triton.jit
def before_the_first(flags):
    """CTA 0 waits for the flag before the first."""
    pid = tl.program_id(0)
    while tl.load(flags + pid - 1, volatile=True) != 0:
        pass
    tl.store(flags + pid, 0)


@triton.jit
def far_stride(values, out, stride):
    """pid * stride is computed in 32 bits."""
    pid = tl.program_id(0)
    tl.store(out + pid, tl.load(values + pid * stride))


@triton.jit
def beyond_when_second(lock, out):
    """The second CTA to come writes beyond the end, in whatever order."""
    came = tl.atomic_add(lock, 1)
    tl.store(out + came * 4, 1)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_maximum(values, out, n: tl.constexpr):
    """A scan with a combine function of its own; nobody waits."""
    lanes = tl.arange(0, n)
    tl.store(out + lanes, tl.associative_scan(tl.load(values + lanes), 0, larger))


@triton.jit
def turns_by_scan(flags, n: tl.constexpr):
    """CTA k goes when the prefix sum of the flags at k is k, and raises flag k."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, n)
    ready = 0
    while ready == 0:
        sums = tl.cumsum(tl.load(flags + lanes, volatile=True), 0)
        if tl.sum(tl.where(lanes == pid, sums, 0)) == pid:
            ready = 1
    tl.atomic_xchg(flags + pid, 1)


@triton.jit
def twice_the_first(a, b):  # noqa: ARG001 - the second is left out on purpose
    return a + a


@triton.jit
def odd_combination(values, out, n: tl.constexpr):
    """Combines without looking at the second: what comes out depends on the order."""
    found = tl.reduce(tl.load(values + tl.arange(0, n)), 0, twice_the_first)
    while found != 10:
        found = (found & 1) + 2
    tl.store(out, found)


@triton.jit
def last_of_the_scan(values, out, total, n: tl.constexpr):
    """Goes on when the last of the running sums is the whole."""
    lanes = tl.arange(0, n)
    sums = tl.cumsum(tl.load(values + lanes), 0)
    found = tl.sum(tl.where(lanes == n - 1, sums, 0))
    while found != total:
        found = (found & 1) - 2
    tl.store(out, found)
