"""The prover on IR as Triton 3.9.0 made it: the same answers, without Triton, in no time."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from kernels.compiled_launch import Argument, CompiledLaunch, TensorArgument, read, written
from kernels.residency.answer import Finding, Verdict, stuck
from kernels.residency.bounds import within_bounds
from kernels.residency.judge import every_order, given_order, replayed
from kernels.residency.launching import launch_of
from kernels.residency.machine import Undecided
from kernels.residency.play import read_turns, shortened
from kernels.residency.scalar import INTEGER, Unknown, rounded, wrap

JUDGED = Path(__file__).with_name("judged")
ROWS: dict[str, dict[str, Any]] = {
    row["name"]: row
    for path in sorted(JUDGED.glob("*.toml"))
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["launch"]
}
STORED = sorted(path.stem for path in (JUDGED / "ir").glob("*.ttir"))
ELEMENTS = {"bool": "i8", "int32": "i32", "int64": "i64", "float32": "f32"}


def compiled(name: str) -> CompiledLaunch:
    row = ROWS[name]
    arguments: dict[str, Argument] = {}
    for key, value in row["arguments"].items():
        arguments[key] = value
        if isinstance(value, dict):
            told = cast("dict[str, Any]", value)
            element = ELEMENTS[told["dtype"]]
            count = math.prod(told["shape"])
            fill = told.get("fill", 0)
            arguments[key] = TensorArgument(
                element, count, list(range(count)) if fill == "arange" else fill
            )
    x, y, z = (*row["grid"], 1, 1)[:3]
    ttir = (JUDGED / "ir" / f"{name}.ttir").read_text(encoding="utf-8")
    return CompiledLaunch(row["kernel"], (x, y, z), arguments, ttir, (), ())


def judged(name: str, room: int | None = None) -> Finding:
    try:
        launch = launch_of(compiled(name))
        slots: int = room or ROWS[name]["resident"]
        if ROWS[name].get("order") == "reverse":
            return given_order(launch, slots, range(launch.ctas)[::-1], "in reverse")
        return every_order(launch, slots)
    except Undecided as undecided:
        return Finding(Verdict.NOT_PROVEN, str(undecided))


@pytest.mark.parametrize("name", STORED)
def test_the_answer_is_the_one_of_the_whole_way(name: str) -> None:
    finding, seen = within_bounds(judged(name), compiled(name))

    assert finding.verdict == ROWS[name]["answer"], finding.lines
    assert ROWS[name].get("says", "") in "\n".join([*finding.lines, seen])


@pytest.mark.parametrize("name", STORED)
def test_a_launch_survives_the_way_from_one_process_to_another(name: str) -> None:
    assert read(written([compiled(name)])) == [compiled(name)]


def test_a_barrier_hangs_in_some_order_exactly_below_its_number_of_waiters() -> None:
    verdicts = {room: judged("middle_out_r9", room).verdict for room in (1, 9, 15, 16, 17)}

    assert verdicts == {
        1: Verdict.DEADLOCK, 9: Verdict.DEADLOCK, 15: Verdict.DEADLOCK,
        16: Verdict.SAFE, 17: Verdict.SAFE,
    }  # fmt: skip


def test_a_lock_in_two_orders_is_safe_with_one_slot() -> None:
    assert judged("ab_ba_fits", 1).verdict is Verdict.SAFE
    assert judged("ab_ba_fits", 2).verdict is Verdict.DEADLOCK


def test_one_order_is_looked_at_in_every_schedule() -> None:
    launch = launch_of(compiled("middle_out_r9"))
    in_order = given_order(launch, 9, range(16), "in order")
    last = given_order(launch, 9, [*range(8), *range(9, 16), 8], "the middle last")

    assert in_order.verdict is Verdict.ONE_ORDER
    assert last.verdict is Verdict.DEADLOCK
    assert "no schedule of it ends" in last.why


def test_a_witness_says_how_many_slots_it_needs_and_is_refused_with_fewer() -> None:
    launch = launch_of(compiled("ab_ba_fits"))

    assert replayed(launch, 2, [0, 1]).verdict is Verdict.DEADLOCK
    assert replayed(launch, 2, [0, 0, 0, 0]).verdict is Verdict.NOT_PROVEN
    with pytest.raises(ValueError, match="CTA 0 has ended"):
        replayed(launch, 2, [0, 0, 0, 0, 0])
    with pytest.raises(ValueError, match="CTA 1 cannot be launched: 1 are resident"):
        replayed(launch, 1, [0, 1])


def test_a_witness_that_hangs_on_a_plain_load_proves_nothing() -> None:
    finding = replayed(launch_of(compiled("plain_barrier")), 2, [0, 1, 0, 1])

    assert finding.verdict is Verdict.NOT_PROVEN
    assert "the compiler may read it once, or never" in finding.why


def test_a_witness_is_played_on_until_nobody_can_do_anything() -> None:
    launch = launch_of(compiled("unlocks_twice_only"))
    early = launch.play(2)
    for cta in (0, 1):
        early.turn(cta)

    assert "2 CTAs hold a slot, 1 are not launched yet" in stuck(early)
    assert "1 CTA is stuck, all were launched" in replayed(launch, 2, [0, 1]).stuck


def test_r_that_is_smaller_than_one_group_but_not_than_two_adds_up() -> None:
    assert judged("half_exits", 8).verdict is Verdict.SAFE
    assert judged("half_exits", 7).verdict is Verdict.DEADLOCK


@pytest.mark.parametrize("turns", [[0, 1, 2, 5, 5, 5, 9], [3], [4, 4, 3, 2, 1], []])
def test_turns_are_read_as_they_are_written(turns: list[int]) -> None:
    assert read_turns(shortened(turns)) == turns


@pytest.mark.parametrize(
    ("name", "a", "b", "found"),
    [
        ("addi", 2**31 - 1, 1, -(2**31)),
        ("muli", 1103515245, 3, wrap(1103515245 * 3, 32)),
        ("divsi", -7, 2, -3),
        ("remsi", -7, 2, -1),
        ("divui", -1, 2, 2**31 - 1),
        ("shrui", -1, 28, 15),
        ("shrsi", -16, 2, -4),
        ("minui", -1, 5, 5),
    ],
)
def test_integers_are_those_of_the_machine(name: str, a: int, b: int, found: int) -> None:
    assert INTEGER[name](a, b, 32) == found


@pytest.mark.parametrize(("name", "a", "b"), [("shli", 1, 32), ("shrsi", 1, -1), ("divsi", 1, 0)])
def test_what_compiled_code_leaves_open_is_unknown(name: str, a: int, b: int) -> None:
    assert isinstance(INTEGER[name](a, b, 32), Unknown)


def test_floats_round_as_their_type() -> None:
    assert rounded(16777217.0, "f32") == 16777216.0
    assert rounded(1.0 + 2.0**-9, "bf16") == 1.0
    assert rounded(1e39, "f32") == math.inf
