"""Barriers, counts and chains: by vectors, bits, maxima, trees, and with the last one missing.

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
def climbing(counts, out):
    """The second to arrive at a node of a binary tree goes on to its parent; nobody waits."""
    node = (tl.program_id(0) + tl.num_programs(0)) // 2
    while node > 0:
        if tl.atomic_add(counts + node, 1) == 1:
            node = node // 2
        else:
            node = 0
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def look_back(ticket, status, out):
    """A prefix by tickets: walk back until someone has the whole, wait where nothing stands."""
    mine = tl.atomic_add(ticket, 1)
    tl.atomic_xchg(status + mine, 1)
    total = 1
    look = mine - 1
    while look >= 0:
        seen = tl.atomic_add(status + look, 0)
        if seen >= 2:
            total += seen - 1
            look = -1
        elif seen == 1:
            total += 1
            look -= 1
    tl.atomic_xchg(status + mine, total + 1)
    tl.store(out + mine, total)


@triton.jit
def reset_by_first_out(counter, total):
    """CTA 0 clears the counter as soon as it is through: who looks later waits for ever."""
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < total:
        pass
    if tl.program_id(0) == 0:
        tl.atomic_xchg(counter, 0)


@triton.jit
def flags_by_sum(flags, n: tl.constexpr):
    """Everybody raises a flag and waits until the sum of all of them is n."""
    tl.atomic_xchg(flags + tl.program_id(0), 1)
    lanes = tl.arange(0, n)
    while tl.sum(tl.load(flags + lanes, volatile=True)) < n:
        pass


@triton.jit
def vector_barrier(counters, total, n: tl.constexpr):
    """A barrier over n counters at once."""
    lanes = tl.arange(0, n)
    tl.atomic_add(counters + lanes, 1)
    while tl.min(tl.atomic_add(counters + lanes, 0)) < total:
        pass


@triton.jit
def one_does_not_count(counter, total):
    """The mask keeps CTA 1 from counting."""
    tl.atomic_add(counter, 1, mask=tl.program_id(0) != 1)
    while tl.atomic_add(counter, 0) < total:
        pass


@triton.jit
def highest_seen(epoch, n):
    """Everybody waits until the last CTA has shown itself."""
    tl.atomic_max(epoch, tl.program_id(0) + 1)
    while tl.atomic_max(epoch, 0) < n:
        pass


@triton.jit
def bits_set(bits, full):
    tl.atomic_or(bits, 1 << tl.program_id(0))
    while tl.atomic_or(bits, 0) != full:
        pass


@triton.jit
def bits_toggled(bits, full):
    """Takes its bit away when it is through: who looks later never sees all of them."""
    bit = 1 << tl.program_id(0)
    tl.atomic_xor(bits, bit)
    while tl.atomic_xor(bits, 0) != full:
        pass
    tl.atomic_xor(bits, bit)


@triton.jit
def passing_on(token):
    """CTA k takes the token when it is k, and makes it k + 1."""
    pid = tl.program_id(0)
    while tl.atomic_cas(token, pid, pid + 1) != pid:
        pass


@triton.jit
def spare_ctas(counter, n):
    """CTAs from n on have nothing to do; the others form a barrier."""
    if tl.program_id(0) < n:
        tl.atomic_add(counter, 1)
        while tl.atomic_add(counter, 0) < n:
            pass


@triton.jit
def dissemination(flags, rounds: tl.constexpr):
    """Round k: tell the CTA 2**k further, wait for one's own flag."""
    pid = tl.program_id(0)
    n = tl.num_programs(0)
    for k in tl.static_range(rounds):  # pyright: ignore[reportGeneralTypeIssues] - unrolled by Triton
        tl.atomic_xchg(flags + k * n + (pid + (1 << k)) % n, 1)
        while tl.atomic_add(flags + k * n + pid, 0) == 0:
            pass


@triton.jit
def barrier_in_trips(counter, total, n):
    """A barrier for each trip, and n - 4 trips."""
    for trip in range(n - 4):
        tl.atomic_add(counter, 1)
        while tl.atomic_add(counter, 0) < total * (trip + 1):
            pass


@triton.jit
def gives_up(flag, out):
    """Looks fifty times for a flag that nobody raises, then goes on."""
    seen = 0
    for _ in range(50):
        if seen == 0:
            seen = tl.atomic_add(flag, 0)
    tl.store(out + tl.program_id(0), seen)


@triton.jit
def byte_flags(flags):
    """CTA k waits for CTA k + 1 through flags of one byte; the last one waits for nobody."""
    pid = tl.program_id(0)
    if pid < tl.num_programs(0) - 1:
        while tl.load(flags + pid + 1, volatile=True) == 0:
            pass
    tl.store(flags + pid, 1)


@triton.jit
def smallest_leads(keys, ready, n: tl.constexpr):
    """Everybody waits for the CTA whose key is the smallest."""
    lanes = tl.arange(0, n)
    leader = tl.argmin(tl.load(keys + lanes), 0)
    if tl.program_id(0) == leader:
        tl.atomic_xchg(ready, 1)
    else:
        while tl.atomic_add(ready, 0) == 0:
            pass


@triton.jit
def tenths(counter):
    """Ten times a tenth in fp32 is not one."""
    tl.atomic_add(counter, 0.1)
    while tl.atomic_add(counter, 0.0) != 1.0:
        pass
