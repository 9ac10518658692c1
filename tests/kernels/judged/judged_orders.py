"""Locks, and CTAs that wait for others by their place in the launch.

Launched by `launches.toml`, which says what is true of each launch. Compiled, never run.
"""
# ruff: noqa: ANN001, ANN201 - Triton's calling convention is untyped, and launch files
#   name every argument
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

import triton
import triton.language as tl


@triton.jit
def ab_ba(locks, out):
    """CTA 0 takes lock 0 then 1, CTA 1 takes 1 then 0. Some schedules end, some never do."""
    pid = tl.program_id(0)
    first = pid % 2
    second = 1 - first
    while tl.atomic_cas(locks + first, 0, 1) != 0:
        pass
    while tl.atomic_cas(locks + second, 0, 1) != 0:
        pass
    tl.atomic_add(out, 1)
    tl.atomic_xchg(locks + second, 0)
    tl.atomic_xchg(locks + first, 0)


@triton.jit
def ab_ba_late(locks, out, delay):
    """As ab_ba; odd CTAs read something `delay` times first, so that taking turns hides it."""
    pid = tl.program_id(0)
    first = pid % 2
    second = 1 - first
    for _ in range(first * delay):
        tl.atomic_add(out + 1, 0)
    while tl.atomic_cas(locks + first, 0, 1) != 0:
        pass
    while tl.atomic_cas(locks + second, 0, 1) != 0:
        pass
    tl.atomic_add(out, 1)
    tl.atomic_xchg(locks + second, 0)
    tl.atomic_xchg(locks + first, 0)


@triton.jit
def ticket_lock(ticket, serving, out):
    mine = tl.atomic_add(ticket, 1)
    while tl.atomic_add(serving, 0) != mine:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.atomic_add(serving, 1)


@triton.jit
def exits_with_lock(lock, out):
    """The first CTA that gets the lock ends without giving it back."""
    if tl.program_id(0) == 0:
        tl.atomic_cas(lock, 0, 1)
    else:
        while tl.atomic_cas(lock, 0, 1) != 0:
            pass
        tl.atomic_xchg(lock, 0)
    tl.atomic_add(out, 1)


@triton.jit
def waits_for_next(flags, n):
    pid = tl.program_id(0)
    if pid < n - 1:
        while tl.atomic_add(flags + pid + 1, 0) == 0:
            pass
    tl.atomic_xchg(flags + pid, 1)


@triton.jit
def waits_for_previous(flags):
    pid = tl.program_id(0)
    if pid > 0:
        while tl.atomic_add(flags + pid - 1, 0) == 0:
            pass
    tl.atomic_xchg(flags + pid, 1)


@triton.jit
def middle_out(flags, n):
    """Everybody waits for the CTA in the middle."""
    pid = tl.program_id(0)
    if pid == n // 2:
        tl.atomic_xchg(flags, 1)
    else:
        while tl.atomic_add(flags, 0) == 0:
            pass


@triton.jit
def three_d(flags):
    """CTA (x, y, z) waits for (x - 1, y, z), (x, y - 1, z), (x, y, z - 1)."""
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    nx = tl.num_programs(0)
    ny = tl.num_programs(1)
    at = (z * ny + y) * nx + x
    if x > 0:
        while tl.atomic_add(flags + at - 1, 0) == 0:
            pass
    if y > 0:
        while tl.atomic_add(flags + at - nx, 0) == 0:
            pass
    if z > 0:
        while tl.atomic_add(flags + at - nx * ny, 0) == 0:
            pass
    tl.atomic_xchg(flags + at, 1)


@triton.jit
def y_column_barrier(counters, ny):
    """CTAs of the same x form a barrier over y: x-fastest launching fills R with waiters."""
    x = tl.program_id(0)
    tl.atomic_add(counters + x, 1)
    while tl.atomic_add(counters + x, 0) < ny:
        pass


@triton.jit
def ticket_order(ticket, flags):
    """Virtual CTA ids from a ticket: safe in every launch order."""
    mine = tl.atomic_add(ticket, 1)
    if mine > 0:
        while tl.atomic_add(flags + mine - 1, 0) == 0:
            pass
    tl.atomic_xchg(flags + mine, 1)
