"""`python -m kernels prove`: verdicts, reasons and exit codes, as a user gets them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernels.case import Asked, shipped
from kernels.scaled_launch import context_of

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


def test_the_incidents_knob_is_a_proven_deadlock() -> None:
    code, said = prove(*MLA, "--combine", "spin_all", "--target-ctas", "512")

    assert code == 1
    assert "DEADLOCK, proven" in said
    assert "188 CTAs are stuck, 324 can never start" in said
    assert "waits for target = 64 or more" in said
    assert "context 131072 -> 1024: the same 64 of 64 splits have work" in said
    assert "static scan of mla_decode_kernel: loop on an atomic at split_merge.py:" in said


def test_the_good_knob_is_safe_because_its_grid_fits() -> None:
    code, said = prove(*MLA, "--combine", "spin_all", "--target-ctas", "184")

    assert code == 0
    assert "all 184 CTAs fit into R = 188" in said
    assert "SAFE: no residency deadlock" in said


def test_what_the_scan_clears_is_safe_and_runs_all_the_same_when_asked() -> None:
    code, said = prove(*MLA, "--combine", "last_arriver", "--target-ctas", "256", "--run")

    assert code == 0
    assert "static scan of mla_decode_kernel: no CTA waits for another" in said
    assert "SAFE: no CTA waits for another, and this launch order finished" in said


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
        (("--reserved-sms", "189"), "has 188"),
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
    assert "counter[0] = 8, waits for total = 9 or more" in said
    assert "DEADLOCK, proven: 3 of 3 launch orders cannot end" in said


def test_a_kernel_never_seen_before_that_fits_a_named_gpu_is_safe(tmp_path: Path) -> None:
    launch = barrier_launch(tmp_path, 188, "ctas_per_sm = 1")

    fits = prove("--source", f"{TINY}:barrier", "--launch", launch, "--gpu", "rtx-pro-6000")
    held = prove("--source", f"{TINY}:barrier", "--launch", launch)

    assert fits[0] == 0
    assert held[0] == 2
    assert "needs `resident`, or `ctas_per_sm` and --gpu" in held[1]


def test_a_kernel_that_never_gives_way_is_not_proven_and_does_not_hang_the_prover(
    tmp_path: Path,
) -> None:
    source = tmp_path / "endless.py"
    source.write_text(
        "import triton\nimport triton.language as tl\n\n"
        "@triton.jit\ndef endless(out):\n"
        "    turns = 1\n    while turns > 0:\n        turns = 1\n    tl.store(out, turns)\n",
        encoding="utf-8",
    )
    launch = launch_file(
        tmp_path, 'grid = [2]\nresident = 1\n[arguments]\nout = {dtype = "int32", shape = [1]}\n'
    )

    code, said = prove(
        "--source", f"{source}:endless", "--launch", launch, "--run", "--within-s", "4"
    )

    assert code == 3
    assert "NOT PROVEN" in said


def test_the_scaled_launch_keeps_the_splits_that_have_work() -> None:
    case = shipped(
        Asked(
            "rtx-pro-6000", "gqa_decode", "spin_all", "bf16", "512", context=9000, batch=1,
            reserved_sms=0, clamp=False, layout="tile_fastest",
        )
    )  # fmt: skip

    assert case.plan is not None
    assert case.plan.splits == 64
    assert context_of(case.plan) == 47 * 16  # 141 blocks, three per split
    assert [row.name for row in case.scaling] == ["context", "KV block", "head width", "KV dtype"]
