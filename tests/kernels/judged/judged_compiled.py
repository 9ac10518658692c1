"""Kernels that Triton and Python take differently, and operations that are rarely met.

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
def bool_and_counts(counter, total):
    """Triton evaluates both sides of `and`; Python's interpreter stops at the first false one."""
    pid = tl.program_id(0)
    if (pid > 0) and (tl.atomic_add(counter, 1) >= 0):
        tl.atomic_add(counter, 0)
    if pid == total - 1:
        while tl.atomic_add(counter, 0) < total:
            pass


@triton.jit
def bool_or_hangs(counter, total):
    """The other way: what Triton adds once more makes `!=` miss its value."""
    pid = tl.program_id(0)
    if (pid == 0) or (tl.atomic_add(counter, 1) < 0):
        tl.atomic_add(counter, 0)
    if pid == total - 1:
        while tl.atomic_add(counter, 0) != total - 1:
            pass


@triton.jit
def python_int(flags, n):
    """range() gives Python ints in the interpreter; on a GPU i * 1103515245 wraps in 32 bits."""
    pid = tl.program_id(0)
    where = 0
    for i in range(3, 4):
        where = (i * 1103515245 + 12345) % 7
    if pid == n - 1:
        tl.atomic_xchg(flags + 3, 1)  # where the unbounded arithmetic points
    else:
        while tl.atomic_add(flags + where, 0) == 0:
            pass


@triton.jit
def chained_compare(counter, total):
    """0 <= x < total: x is read once in Python."""
    tl.atomic_add(counter, 1)
    x = tl.atomic_add(counter, 0)
    while x >= 0 and x < total:
        x = tl.atomic_add(counter, 0)


@triton.jit
def while_true_break(counter, total):
    tl.atomic_add(counter, 1)
    while True:
        if tl.atomic_add(counter, 0) >= total:
            break


@triton.jit
def atomic_store_load(flag, out, n):
    pid = tl.program_id(0)
    if pid == n - 1:
        tl.atomic_store(flag, 1)
    else:
        while tl.atomic_load(flag) == 0:
            pass
        tl.store(out + pid, 1)


@triton.jit
def out_of_bounds(out):
    tl.store(out + 1_000_000_000 + tl.program_id(0), 1)


@triton.jit(noinline=True)
def spin_noinline(counter, total):
    while tl.atomic_add(counter, 0) < total:
        pass
    return total


@triton.jit
def noinline_barrier(counter, total):
    tl.atomic_add(counter, 1)
    spin_noinline(counter, total)


@triton.jit
def early_return(counter, total):
    pid = tl.program_id(0)
    tl.atomic_add(counter, 1)
    if pid % 2 == 1:
        return
    while tl.atomic_add(counter, 0) < total:
        pass


@triton.jit
def cas64(lock, out):
    while tl.atomic_cas(lock, tl.full([], 0, tl.int64), tl.full([], 1, tl.int64)) != 0:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.atomic_xchg(lock, tl.full([], 0, tl.int64))


@triton.jit
def and_barrier(counter, total):
    """Every CTA arrives in an `and`; Triton arrives always, the interpreter only from CTA 1 on."""
    pid = tl.program_id(0)
    if (pid > 0) and (tl.atomic_add(counter, 1) >= 0):
        tl.atomic_add(counter, 0)
    if pid == total - 1:
        while tl.atomic_add(counter, 0) < total:
            pass


@triton.jit
def plain_next(flags, n):
    """Waits for the next CTA by plain loads alone: no loop is left in the PTX."""
    pid = tl.program_id(0)
    if pid < n - 1:
        while tl.load(flags + pid + 1) == 0:
            pass
    tl.store(flags + pid, 1)


@triton.jit
def counted_register_loop(out, step):
    """Ends only if step > 0; nothing is waited for."""
    x = 0
    while x < 10:
        x += step
    tl.store(out + tl.program_id(0), x)


@triton.jit
def long_spin(flag, out, turns, n):
    """Everybody counts to a bound; CTA n-1 sets the flag. Ends always, but needs many steps."""
    turn = 0
    while (turn < turns) & (tl.atomic_add(flag, 0) == 0):
        turn += 1
    tl.atomic_xchg(flag, 1)
    tl.store(out + tl.program_id(0), turn)


@triton.jit
def asserting(counter, total):
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < total:
        tl.device_assert(tl.program_id(0) < 100, "no such CTA")


@triton.jit
def uint_wait(counter, total):
    """0 - 1 in uint32 is 2**32 - 1: never below."""
    tl.atomic_add(counter, 1)
    left = tl.atomic_add(counter, 0).to(tl.uint32) - total
    while left != 0:
        left = tl.atomic_add(counter, 0).to(tl.uint32) - total


@triton.jit
def inline_asm_spin(flag, out):
    """Spins in PTX."""
    x = tl.inline_asm_elementwise(
        "{ .reg .pred p; .reg .b32 t; L: ld.volatile.global.b32 t, [$1]; "
        "setp.eq.s32 p, t, 0; @p bra L; mov.b32 $0, t; }",
        "=r,l",
        [flag],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )
    tl.store(out, x)


@triton.jit
def descriptor_wait(flags, out, n):
    """A wait whose load goes through a tensor descriptor (TMA on a GPU)."""
    pid = tl.program_id(0)
    d = tl.make_tensor_descriptor(flags, [16], [1], [16])
    if pid == n - 1:
        tl.atomic_xchg(flags, 1)
    else:
        seen = 0
        while seen == 0:
            seen = tl.sum(d.load([0]), 0)
        tl.store(out + pid, seen)


@triton.jit
def nan_wait(counter, total):
    """A float counter that becomes NaN: `<` is false and it ends; `not (>=)` would not."""
    tl.atomic_add(counter, float("nan"))
    while tl.atomic_add(counter, 0.0) < total:
        pass


@triton.jit
def shifting(flag, out, n):
    """A shift by 32: Python's ints and numpy differ from PTX, which clamps."""
    pid = tl.program_id(0)
    bit = tl.full([], 1, tl.int32) << (tl.program_id(0) * 0 + 32)
    if pid == n - 1:
        tl.atomic_xchg(flag, 1)
    else:
        while tl.atomic_add(flag, 0) + bit == 0:
            pass


@triton.jit
def reading(a, x, b, y):
    return a, x + y + tl.load(a.to(tl.pointer_type(tl.int32)), volatile=True)


@triton.jit
def bounded_reduction(flag, out):
    where = (flag + tl.zeros([64], tl.int32)).to(tl.int64)
    _, s = tl.reduce((where, tl.zeros([64], tl.int32)), 0, reading)
    tl.store(out + tl.program_id(0), s)


@triton.jit
def bounded_scan(flag, out):
    where = (flag + tl.zeros([64], tl.int32)).to(tl.int64)
    _, s = tl.associative_scan((where, tl.zeros([64], tl.int32)), 0, reading)
    tl.store(out + tl.arange(0, 64), s)


@triton.jit
def lock_and_reduction(flag, out):
    """A correct lock, then a reduction that reads 63 times and ends."""
    while tl.atomic_cas(flag + 1, 0, 1) != 0:
        pass
    where = (flag + tl.zeros([64], tl.int32)).to(tl.int64)
    _, s = tl.reduce((where, tl.zeros([64], tl.int32)), 0, reading)
    tl.store(out + tl.program_id(0), s)
    tl.atomic_xchg(flag + 1, 0)
