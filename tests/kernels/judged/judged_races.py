"""Barriers, races, and loops that may never end by themselves.

Launched by `launches.toml`, which says what is true of each launch. Compiled, never run.
"""
# ruff: noqa: ANN001, ANN201, ARG001 - Triton's calling convention is untyped, and launch files
#   name every argument
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

import triton
import triton.language as tl


@triton.jit
def sense_barrier(counter, sense, total, rounds):
    mine = 0
    for _ in range(rounds):
        mine = 1 - mine
        if tl.atomic_add(counter, 1) == total - 1:
            tl.atomic_xchg(counter, 0)
            tl.atomic_xchg(sense, mine)
        else:
            while tl.atomic_add(sense, 0) != mine:
                pass


@triton.jit
def barrier_too_many(counter, total):
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < total + 1:
        pass


@triton.jit
def barrier(counter, total):
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < total:
        pass


@triton.jit
def barrier_not_equal(counter, total):
    """Waits on `!=`: late readers miss the value once somebody counts on."""
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) != total:
        pass
    tl.atomic_add(counter, 1)


@triton.jit
def half_exits(counter, half):
    pid = tl.program_id(0)
    if pid % 2 == 0:
        tl.atomic_add(counter, 1)
        while tl.atomic_add(counter, 0) < half:
            pass


@triton.jit
def fp32_barrier(counter, total):
    tl.atomic_add(counter, 1.0)
    while tl.atomic_add(counter, 0.0) < total:
        pass


@triton.jit
def wrapping(counter, target):
    """An int32 counter that wraps from 2**31 - 1 to -2**31."""
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) != target:
        pass


@triton.jit
def racy_arrivals(counter, n):
    """CTAs 0..n-2 count by load and store; CTA n-1 waits for n - 1. A lost update hangs it."""
    pid = tl.program_id(0)
    if pid == n - 1:
        while tl.load(counter, volatile=True) < n - 1:
            pass
    else:
        tl.store(counter, tl.load(counter) + 1)


@triton.jit
def store_buffering(x, y, done, out):
    """Whoever sees the other's flag is second and says so. Relaxed: both may see 0, nobody does."""
    pid = tl.program_id(0)
    if pid == 0:
        tl.atomic_xchg(x, 1, sem="relaxed")
        if tl.atomic_add(y, 0, sem="relaxed") == 1:
            tl.atomic_xchg(done, 1, sem="relaxed")
    elif pid == 1:
        tl.atomic_xchg(y, 1, sem="relaxed")
        if tl.atomic_add(x, 0, sem="relaxed") == 1:
            tl.atomic_xchg(done, 1, sem="relaxed")
    else:
        while tl.atomic_add(done, 0, sem="relaxed") == 0:
            pass
        tl.store(out + pid, 1)


@triton.jit
def plain_wait_removed(flags, n):
    """waits_for_next, by plain loads: the compiler deletes the loop."""
    pid = tl.program_id(0)
    if pid < n - 1:
        while tl.load(flags + pid + 1) == 0:
            pass
    tl.store(flags + pid, 1)


@triton.jit
def plain_wait_counted(flags, out):
    """waits_for_previous by plain loads, with a count that is kept: the load leaves the loop?"""
    pid = tl.program_id(0)
    turns = 0
    if pid > 0:
        while tl.load(flags + pid - 1) == 0:
            turns += 1
    tl.store(out + pid, turns)
    tl.store(flags + pid, 1)


@triton.jit
def register_loop(out):
    x = 1
    while x > 0:
        x = (x % 7) + 1
    tl.store(out, x)


@triton.jit
def loaded_once_loop(flag, out):
    """What it waits for was read before the loop: it never ends, and no CTA is waited for."""
    seen = tl.load(flag)
    turns = 0
    while seen == 0:
        turns = (turns + 1) % 1000
    tl.store(out + tl.program_id(0), turns)


@triton.jit
def livelock(a, b):
    """Two CTAs give way to each other for ever, in step."""
    pid = tl.program_id(0)
    if pid < 2:
        entered = 0
        while entered == 0:
            tl.atomic_xchg(a + pid, 1)
            if tl.atomic_add(a + 1 - pid, 0) == 0:
                entered = 1
            else:
                tl.atomic_xchg(a + pid, 0)
        tl.atomic_xchg(a + pid, 0)


@triton.jit
def bounded_retries(flag, out, turns):
    turn = 0
    seen = 0
    while (turn < turns) & (seen == 0):
        seen = tl.atomic_add(flag, 0)
        turn += 1
    tl.store(out + tl.program_id(0), turn)


@triton.jit
def nested(flags, n, rounds):
    pid = tl.program_id(0)
    r = 0
    while r < rounds:
        seen = 0
        while seen < 1:
            i = 0
            seen = tl.atomic_add(flags + r, 0)
            while i < 3:
                seen += tl.atomic_add(flags + r, 0) * 0
                i += 1
            if pid == n - 1:
                tl.atomic_xchg(flags + r, 1)
        r += 1


@triton.jit
def data_dependent(lengths, counter, total):
    pid = tl.program_id(0)
    for _ in range(tl.load(lengths + pid)):
        tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < total:
        pass


@triton.jit
def debug_barriers(counter, total):
    tl.debug_barrier()
    tl.atomic_add(counter, 1)
    tl.debug_barrier()
    while tl.atomic_add(counter, 0) < total:
        tl.debug_barrier()
    tl.debug_barrier()


@triton.jit
def timer_fallback(flag, out):
    """A bounded wait: gives up by the clock."""
    seen = tl.atomic_poll(flag, 1, timeout_ns=1_000_000)
    tl.store(out + tl.program_id(0), seen.to(tl.int32) + 1)
