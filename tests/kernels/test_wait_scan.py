"""The static scan: which kernels can wait for another CTA, and which cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernels.splits import COMBINES, WAITING
from kernels.ttir import parse
from kernels.wait_scan import Wait, waits

Ask = Callable[[str], dict[str, Any]]
MODULE = """
#loc = loc("/somewhere/kernel.py":3:1)
module {{
  tt.func public @kernel(%p: !tt.ptr<i32>, %n: i32) {{
    %c0 = arith.constant 0 : i32 loc(#loc)
    {body}
    tt.return loc(#loc)
  }} loc(#loc)
}} loc(#loc)
#loc7 = loc("/somewhere/kernel.py":17:5)
#loc8 = loc(callsite(#loc7 at #loc))
"""
SPIN = MODULE.format(
    body="""scf.while : () -> () {
      %3 = tt.atomic_rmw add, acquire, gpu, %p, %c0 : (!tt.ptr<i32>, i32) -> i32 loc(#loc8)
      %4 = arith.cmpi slt, %3, %n : i32 loc(#loc8)
      scf.condition(%4) loc(#loc8)
    } do {
      scf.yield loc(#loc8)
    } loc(#loc8)"""
)
# The body's %3 is a load; the condition's %3 is another value of the same name.
COUNTS = MODULE.format(
    body="""%r = scf.while (%i = %c0) : (i32) -> i32 {
      %3 = arith.cmpi slt, %i, %n : i32
      scf.condition(%3) %i : i32
    } do {
    ^bb0(%j: i32):
      %3 = tt.load %p : !tt.ptr<i32>
      %k = arith.addi %j, %c0 : i32
      scf.yield %k : i32
    }"""
)
CARRIES = COUNTS.replace("scf.yield %k", "scf.yield %3")
NESTED = MODULE.format(
    body="""scf.while : () -> () {
      %5 = scf.if %n -> (i32) {
        %6 = tt.load %p {isVolatile = true} : !tt.ptr<i32> loc(#loc7)
        scf.yield %6 : i32
      } else {
        scf.yield %c0 : i32
      }
      %7 = arith.cmpi slt, %5, %n : i32
      scf.condition(%7)
    } do {
      scf.yield
    }"""
)


@pytest.fixture
def scanned(answers: Ask) -> dict[str, Any]:
    return answers("scan_experiments.py")


def test_a_loop_on_an_atomic_is_a_wait_at_the_called_line() -> None:
    assert waits(SPIN) == (Wait("loop on an atomic", "kernel.py:17"),)


def test_a_load_in_a_loop_that_does_not_decide_its_end_is_no_wait() -> None:
    assert waits(COUNTS) == ()


def test_a_load_that_reaches_the_condition_a_turn_later_is_a_wait() -> None:
    assert [wait.by for wait in waits(CARRIES)] == ["loop on a plain load"]


def test_a_load_inside_a_branch_inside_a_loop_is_a_wait() -> None:
    assert waits(NESTED) == (Wait("loop on a volatile load", "kernel.py:17"),)


def test_names_are_unique_although_siblings_share_them() -> None:
    loads = [each for each in parse(COUNTS).walk() if each.name == "tt.load"]
    conditions = [each for each in parse(COUNTS).walk() if each.name == "scf.condition"]

    assert loads[0].results[0] != conditions[0].operands[0]


def test_a_loop_on_a_function_that_reads_is_a_wait_and_on_one_that_does_not_is_none() -> None:
    reads = SPIN.replace("tt.atomic_rmw add, acquire, gpu,", "tt.call @reads")
    counts = reads.replace("@reads", "@counts")
    functions = """
  tt.func private @reads(%q: !tt.ptr<i32>) -> i32 {
    %1 = tt.load %q : !tt.ptr<i32>
    tt.return %1 : i32
  }
  tt.func private @counts(%q: !tt.ptr<i32>) -> i32 {
    tt.return %q : i32
  }
"""

    assert [wait.by for wait in waits(reads + functions)] == ["loop on a call that reads memory"]
    assert waits(counts + functions) == ()


def test_a_poll_with_a_timeout_is_a_wait_that_ends() -> None:
    poll = "%1 = tt.atomic_poll acquire, gpu, %p, %n{} : !tt.ptr<i32>, i32 -> i1"

    (timed,) = waits(MODULE.format(body=poll.format(" timeout %c0")))
    (untimed,) = waits(MODULE.format(body=poll.format("")))

    assert (timed.bounded, untimed.bounded) == (True, False)


@pytest.mark.parametrize(
    ("kernel", "by"),
    [
        ("barrier", "loop on an atomic"),
        ("barrier_by_poll", "atomic_poll"),
        ("barrier_by_volatile_load", "loop on a volatile load"),
        ("barrier_by_plain_load", "loop on a plain load"),
        ("owner_waits", "loop on an atomic"),
        ("lock", "loop on a compare-and-swap"),
        ("bounded_while", "loop on a volatile load"),
        ("timed_poll", "atomic_poll with a timeout"),
        ("timed_polls_for_ever", "loop on a poll"),
        ("two_flags", "loop on a volatile load"),
    ],
)
def test_every_way_to_wait_is_found(scanned: dict[str, Any], kernel: str, by: str) -> None:
    removed = kernel == "barrier_by_plain_load"  # as nothing says that the load can change

    assert any(
        wait.startswith(f"{by} at waiting_kernels.py:") and wait.endswith("removed") == removed
        for wait in scanned["tiny"][kernel]
    )


@pytest.mark.parametrize(
    "kernel", ["last_arriver", "walks_a_list", "bounded_for", "racy_count", "indices"]
)
def test_kernels_that_wait_for_nobody_are_cleared(scanned: dict[str, Any], kernel: str) -> None:
    assert scanned["tiny"][kernel] == []


@pytest.mark.parametrize("combine", COMBINES)
def test_the_plan_and_the_scan_agree_on_which_combine_modes_wait(
    scanned: dict[str, Any], combine: str
) -> None:
    waiting = [
        bool(kernels) for name, kernels in scanned["decode"].items() if name.endswith(combine)
    ]

    assert len(waiting) >= 3
    assert set(waiting) == {combine in WAITING}
