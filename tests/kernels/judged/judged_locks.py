"""Locks: readers and writers, forks, permits, a ring, and ways to leave one behind.

Launched by `blind.toml`; written by somebody who had not read the prover. Compiled, never run.
"""
# ruff: noqa: ANN001, ANN201, SIM102, SIM114 - Triton's calling convention is untyped; how it branches is what
#   the prover is asked
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

import triton
import triton.language as tl


@triton.jit
def readers_and_writer(state, out):
    """CTA 0 writes when nobody reads; the others count themselves in by compare and swap."""
    if tl.program_id(0) == 0:
        while tl.atomic_cas(state, 0, -1) != 0:
            pass
        tl.store(out, 1)
        tl.atomic_xchg(state, 0)
    else:
        inside = 0
        while inside == 0:
            seen = tl.atomic_add(state, 0)
            if seen >= 0:
                if tl.atomic_cas(state, seen, seen + 1) == seen:
                    inside = 1
        tl.atomic_add(state, -1)


@triton.jit
def upgrading_readers(readers):
    """Each enters as a reader and waits to be the only one: two inside wait for each other."""
    tl.atomic_add(readers, 1)
    while tl.atomic_add(readers, 0) != 1:
        pass
    tl.atomic_add(readers, -1)


@triton.jit
def philosophers(forks, n):
    """Everybody takes the left fork first."""
    left = tl.program_id(0)
    right = (left + 1) % n
    while tl.atomic_cas(forks + left, 0, 1) != 0:
        pass
    while tl.atomic_cas(forks + right, 0, 1) != 0:
        pass
    tl.atomic_xchg(forks + right, 0)
    tl.atomic_xchg(forks + left, 0)


@triton.jit
def ordered_philosophers(forks, n):
    """Everybody takes the fork of the smaller number first."""
    pid = tl.program_id(0)
    first = tl.minimum(pid, (pid + 1) % n)
    second = tl.maximum(pid, (pid + 1) % n)
    while tl.atomic_cas(forks + first, 0, 1) != 0:
        pass
    while tl.atomic_cas(forks + second, 0, 1) != 0:
        pass
    tl.atomic_xchg(forks + second, 0)
    tl.atomic_xchg(forks + first, 0)


@triton.jit
def permits(semaphore, out):
    """Take a permit by subtracting, give it back when there was none, and try again."""
    mine = 0
    while mine == 0:
        if tl.atomic_add(semaphore, -1) > 0:
            mine = 1
        else:
            tl.atomic_add(semaphore, 1)
    tl.atomic_add(out, 1)
    tl.atomic_add(semaphore, 1)


@triton.jit
def ring(head, tail, slots, items, size):
    """CTA 0 fills a ring of `size` slots, CTA 1 empties it."""
    if tl.program_id(0) == 0:
        for i in range(items):
            while i - tl.atomic_add(tail, 0) >= size:
                pass
            tl.store(slots + i % size, i)
            tl.atomic_add(head, 1)
    else:
        for i in range(items):
            while tl.atomic_add(head, 0) <= i:
                pass
            tl.atomic_add(tail, 1)


@triton.jit
def backing_off(lock, out):
    """A lock that waits longer after each failure, at most four turns."""
    wait = 1
    while tl.atomic_cas(lock, 0, 1) != 0:
        for _ in range(wait):
            tl.atomic_add(out + 1, 1)
        wait = tl.minimum(wait * 2, 4)
    tl.store(out, tl.load(out, volatile=True) + 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def unlocks_twice_only(lock, out):
    """The second holder forgets to unlock; a third can never get in."""
    while tl.atomic_cas(lock, 0, 1) != 0:
        pass
    count = tl.load(out, volatile=True) + 1
    tl.store(out, count)
    if count < 2:
        tl.atomic_xchg(lock, 0)


@triton.jit
def stale_in_the_lock(lock, count, n):
    """Counts under a lock with what was read before the lock; CTA n - 1 waits for the sum."""
    if tl.program_id(0) == n - 1:
        while tl.atomic_add(count, 0) < n - 1:
            pass
    else:
        before = tl.load(count, volatile=True)
        while tl.atomic_cas(lock, 0, 1) != 0:
            pass
        tl.store(count, before + 1)
        tl.atomic_xchg(lock, 0)


@triton.jit
def peterson(flag, turn, out):
    """Peterson's lock for two."""
    me = tl.program_id(0)
    other = 1 - me
    tl.atomic_xchg(flag + me, 1)
    tl.atomic_xchg(turn, other)
    going = 1
    while going == 1:
        if tl.atomic_add(flag + other, 0) == 0:
            going = 0
        elif tl.atomic_add(turn, 0) == me:
            going = 0
    tl.atomic_add(out, 1)
    tl.atomic_xchg(flag + me, 0)


@triton.jit
def seqlock(sequence, value, out):
    """CTA 0 writes between two counts; the others read until the count stood still and even."""
    pid = tl.program_id(0)
    if pid == 0:
        tl.atomic_add(sequence, 1)
        tl.store(value, 7)
        tl.atomic_add(sequence, 1)
    else:
        good = 0
        while good == 0:
            before = tl.atomic_add(sequence, 0)
            seen = tl.load(value, volatile=True)
            after = tl.atomic_add(sequence, 0)
            if before == after:
                if before % 2 == 0:
                    tl.store(out + pid, seen)
                    good = 1
