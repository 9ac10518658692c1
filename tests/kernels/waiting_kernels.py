"""Tiny kernels that wait for each other in every way we know, and some that only seem to.

They run in child processes, under Triton's interpreter and its compiler.
"""
# ruff: noqa: ANN001, ANN201 - Triton's calling convention is untyped
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

import triton
import triton.language as tl


@triton.jit
def barrier(counter, out, total):
    tl.atomic_add(counter, 1, sem="release")
    while tl.atomic_add(counter, 0, sem="acquire") < total:
        pass
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def barrier_by_poll(counter, out, total):
    tl.atomic_add(counter, 1, sem="release")
    tl.atomic_poll(counter, total, sem="acquire")
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def barrier_by_volatile_load(counter, out, total):
    tl.atomic_add(counter, 1)
    while tl.load(counter, volatile=True) < total:
        pass
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def barrier_by_plain_load(counter, out, total):
    tl.atomic_add(counter, 1)
    while tl.load(counter) < total:
        pass
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def owner_waits(counter, out, total):
    if tl.program_id(0) == 0:
        while tl.atomic_add(counter, 0, sem="acquire") < total - 1:
            pass
        tl.store(out, 1)
    else:
        tl.atomic_add(counter, 1, sem="release")


@triton.jit
def lock(held, counter, times):
    for _ in range(times):
        while tl.atomic_cas(held, 0, 1) != 0:
            pass
        tl.store(counter, tl.load(counter) + 1)
        tl.atomic_xchg(held, 0)


@triton.jit
def lost_lock(held, counter, times):
    for _ in range(times):
        while tl.atomic_cas(held, 0, 1) != 0:
            pass
        tl.store(counter, tl.load(counter) + 1)


@triton.jit
def racy_count(counter, times):
    for _ in range(times):
        tl.store(counter, tl.load(counter, volatile=True) + 1)


@triton.jit
def bounded_while(flag, out, turns):
    seen = 0
    turn = 0
    while (turn < turns) & (seen == 0):
        seen = tl.load(flag, volatile=True)
        turn += 1
    tl.store(out + tl.program_id(0), turn)


@triton.jit
def bounded_for(flag, out, turns):
    seen = 0
    for _ in range(turns):
        seen += tl.atomic_add(flag, 0)
    tl.store(out + tl.program_id(0), seen + turns)


@triton.jit
def bounded_for_with_an_overwritten_variable(flag, out, turns):
    for turn in range(turns):
        turn = 0  # noqa: PLW2901 - the point: the loop counts where no local shows it
        tl.atomic_add(flag, turn)
    tl.store(out + tl.program_id(0), turns)


@triton.jit
def timed_poll(flag, out):
    seen = tl.atomic_poll(flag, 1, timeout_ns=2_000_000_000)
    tl.store(out + tl.program_id(0), seen.to(tl.int32) + 7)


@triton.jit
def timed_polls_for_ever(flag, out):
    while not tl.atomic_poll(flag, 1, timeout_ns=2_000_000_000):
        pass
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def heartbeat_of_equal_stores(flag, beat):
    while tl.load(flag, volatile=True) == 0:
        tl.store(beat, 1)


@triton.jit
def heartbeat_that_counts(flag, beat):
    while tl.load(flag, volatile=True) == 0:
        tl.atomic_add(beat, 1)


@triton.jit
def heartbeat_that_toggles(flag, beat):
    while tl.load(flag, volatile=True) == 0:
        tl.atomic_xor(beat, 1)
        tl.atomic_xor(beat, 1)


@triton.jit
def two_flags(flags, out):
    """CTA 1 sets both flags, one by one; CTA 0 sums them in one expression."""
    if tl.program_id(0) == 0:
        while tl.load(flags, volatile=True) + tl.load(flags + 1, volatile=True) < 2:
            pass
        tl.store(out, 1)
    else:
        tl.atomic_xchg(flags + 1, 1)
        tl.atomic_xchg(flags, 1)


@triton.jit
def three_flags(flags, out, turns):
    """As two_flags; CTA 0 holds what it read first over two further reads."""
    if tl.program_id(0) == 0:
        while (
            tl.load(flags, volatile=True)
            + tl.load(flags + 1, volatile=True)
            + tl.load(flags + 2, volatile=True)
            < 3
        ):
            pass
        tl.store(out, 1)
    else:
        for _ in range(turns):
            tl.load(flags, volatile=True)
        tl.atomic_xchg(flags, 1)


@triton.jit
def all_three(flags):
    met = 0
    total = 0
    while met == 0:
        total = (
            tl.load(flags, volatile=True)
            + tl.load(flags + 1, volatile=True)
            + tl.load(flags + 2, volatile=True)
        )
        met = total // 3
        total = 0
    return met


@triton.jit
def stale_twice(flags, out, turns, pause):
    """CTA 0 holds flags[3] while a called function holds flags[0]; both change, one by one."""
    if tl.program_id(0) == 0:
        met = 0
        while met == 0:
            met = (tl.load(flags + 3, volatile=True) + all_three(flags)) // 2
        tl.store(out, met)
    else:
        for _ in range(turns):
            tl.load(flags, volatile=True)
        tl.atomic_xchg(flags + 3, 1)
        for _ in range(pause):
            tl.load(flags, volatile=True)
        tl.atomic_xchg(flags, 1)


@triton.jit
def timed_poll_beside_a_counted_spin(flag, out, turns):
    if tl.program_id(0) == 0:
        seen = tl.atomic_poll(flag, 1, timeout_ns=2_000_000_000)
        tl.store(out, seen.to(tl.int32) + 7)
    else:
        turn = 0
        while (turn < turns) & (tl.load(flag, volatile=True) == 0):
            turn += 1


@triton.jit
def indices(out, counter):
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    for _ in range(3):
        tl.atomic_add(counter, 1)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + at, tl.program_id(0) + 10 * tl.program_id(1) + 100 * tl.program_id(2))


@triton.jit
def walks_a_list(following, out):
    """A loop that ends by what it loads, and waits for nobody."""
    at = tl.program_id(0)
    length = 0
    while length < 8:
        at = tl.load(following + at)
        length += 1
    tl.store(out + tl.program_id(0), at)


@triton.jit
def last_arriver(counter, out, total):
    if tl.atomic_add(counter, 1, sem="acq_rel") == total - 1:
        column = 0
        while column < 4:
            tl.store(out + column, tl.load(counter))
            column += 1
