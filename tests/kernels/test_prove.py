"""`python -m kernels prove`: verdicts, reasons and exit codes, as a user gets them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROVE_S_MAX = 300.0  # some 5 s alone on the machine
MLA = ("--gpu", "rtx-pro-6000", "--kernel", "mla_decode", "--context", "131072", "--batch", "1")
TINY = ROOT / "tests" / "kernels" / "waiting_kernels.py"


def prove(*arguments: str) -> tuple[int, str]:
    child = subprocess.run(
        [sys.executable, "-m", "kernels", "prove", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=PROVE_S_MAX, check=False,
    )  # fmt: skip
    return child.returncode, child.stdout + child.stderr


def launch_file(folder: Path, text: str) -> str:
    path = folder / "launch.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def barrier_launch(folder: Path, ctas: int, r: str = "resident = 8") -> str:
    return launch_file(
        folder,
        f"""
        grid = [{ctas}]
        {r}
        [arguments]
        counter = {{dtype = "int32", shape = [1]}}
        out = {{dtype = "int32", shape = [{ctas}]}}
        total = {ctas}
        """,
    )


def test_the_incidents_knob_is_a_proven_deadlock_with_a_witness_that_plays_again() -> None:
    code, said = prove(*MLA, "--combine", "spin_all", "--target-ctas", "512")

    assert code == 1
    assert "DEADLOCK, proven: launched in order, it reaches a state that cannot end" in said
    assert "188 CTAs are stuck, 324 can never start" in said
    assert "atomic add on counters[0] = 24, waits for 64 or more" in said
    assert "mla_decode_kernel, 512 CTAs, compiled: loop on an atomic at split_merge.py:" in said
    assert "weak memory is out of scope" in said
    assert "R is an upper bound" in said
    (witness,) = re.findall(r"--play '(.+)'", said)
    code, said = prove(*MLA, "--combine", "spin_all", "--target-ctas", "512", "--play", witness)
    assert code == 1
    assert "after these turns nothing can end any more" in said


def test_the_good_knob_is_safe_in_every_order_and_schedule() -> None:
    code, said = prove(*MLA, "--combine", "spin_all", "--target-ctas", "184")

    assert code == 0
    assert "SAFE: all 184 CTAs fit into R = 188, and every schedule ends" in said


def test_what_waits_for_nobody_is_safe_above_r() -> None:
    code, said = prove(*MLA, "--combine", "last_arriver", "--target-ctas", "256")

    assert code == 0
    assert "mla_decode_kernel, 256 CTAs, compiled: no loop that can wait" in said
    assert "SAFE: no CTA waits for one that is not launched, in any launch order" in said


def test_r_is_a_range_where_the_driver_chooses_the_carve_out() -> None:
    gqa = ("--gpu", "rtx-pro-6000", "--kernel", "gqa_decode", "--combine", "spin_all")

    code, said = prove(*gqa, "--target-ctas", "376")

    assert code == 3
    assert "NOT PROVEN: safe with R = 376, but R may be as low as 188, and with R = 188" in said


def test_one_launch_order_is_never_safe_by_itself() -> None:
    spin = (*MLA, "--combine", "spin_all", "--context", "4096", "--layout", "split_fastest")

    code, said = prove(*spin, "--target-ctas", "256", "--order", "in-order")

    assert code == 3
    assert "FINISHED IN ONE ORDER: launched in order" in said


def test_the_clamp_holds_the_bad_knob_back() -> None:
    code, said = prove(*MLA, "--combine", "spin_all", "--target-ctas", "512", "--clamp")

    assert code == 0
    assert "clamped from 64 splits" in said


def test_sms_that_something_else_holds_shrink_the_residency() -> None:
    code, said = prove(
        *MLA, "--combine", "grid_barrier", "--target-ctas", "184", "--reserved-sms", "5"
    )

    assert code == 1
    assert "residency 183" in said
    assert "1 can never start" in said


@pytest.mark.parametrize(
    ("wrong", "listed"),
    [
        (("--gpu", "rtx-9999"), "rtx-pro-6000, rtx-5090"),
        (("--kernel", "flash_decode"), "mla_decode, mla_decode-tp8"),
        (("--combine", "spin_some"), "two_pass, last_arriver, owner_spin"),
        (("--dtype", "int4"), "bf16, e4m3"),
        (("--target-ctas", "-3"), "a whole number from 1 to"),
        (("--target-ctas", "lots"), "a whole number from 1 to"),
        (("--batch", "0"), "expected at least 1 each"),
        (("--order", "sideways"), "'in-order', 'reverse', 'seeded'"),
        (("--reserved-sms", "189"), "expected 0 to 188"),
        (("--reserved-sms", "-400"), "expected 0 to 188"),
        (("--batch", "1000000000000"), "at most 65536 requests"),
        (("--context", "3000000000"), "as lengths are int32"),
        (("--within-s", "0"), "expected more than 0"),
        (("--seeds", "0"), "expected more than 0"),
        (("--source", "nowhere.py:kernel"), "no file nowhere.py"),
        (("--source", str(TINY)), "expected FILE:KERNEL"),
    ],
)
def test_bad_usage_is_exit_2_and_says_what_is_supported(
    wrong: tuple[str, str], listed: str
) -> None:
    code, said = prove(*MLA, *wrong)

    assert code == 2
    assert listed in said


def test_a_kernel_never_seen_before_is_judged_from_its_source(tmp_path: Path) -> None:
    code, said = prove(
        "--source", f"{TINY}:barrier", "--launch", barrier_launch(tmp_path, 9),
        "--seeds", "3",
    )  # fmt: skip

    assert code == 1
    assert "barrier of waiting_kernels.py: grid 9, residency 8" in said
    assert "counter[0] = 8, waits for 9 or more" in said
    assert "DEADLOCK, proven: launched in the order of seed 0" in said


def test_a_kernel_never_seen_before_that_fits_a_named_gpu_is_safe(tmp_path: Path) -> None:
    launch = barrier_launch(tmp_path, 188, "ctas_per_sm = 1")

    fits = prove("--source", f"{TINY}:barrier", "--launch", launch, "--gpu", "rtx-pro-6000")
    held = prove("--source", f"{TINY}:barrier", "--launch", launch)

    assert fits[0] == 0
    assert held[0] == 2
    assert "needs `resident`, or `ctas_per_sm` and --gpu" in held[1]


@pytest.mark.parametrize("turns", ["0..8", "9", "nonsense"])
def test_a_witness_that_does_not_fit_the_launch_is_refused(tmp_path: Path, turns: str) -> None:
    launch = barrier_launch(tmp_path, 9)

    code, said = prove("--source", f"{TINY}:barrier", "--launch", launch, "--play", turns)

    assert code == 2
    assert "cannot be launched" in said or "this launch has 9" in said or "expected CTAs" in said
