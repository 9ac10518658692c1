"""The AOT gate itself, on real compilations of a few kernels; in a child, without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import golden
from kernels.trials.child import ROOT

COMPILE_S_MAX = 120


def gate(*arguments: str) -> tuple[int, str]:
    """`python -m kernels aot ...`: its exit code and all that it said."""
    command = [sys.executable, "-m", "kernels", "aot", "--jobs", "1", *arguments]
    # The shell may be set to interpret: the gate compiles all the same.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRITON_INTERPRET": "1"}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=COMPILE_S_MAX,
        check=False,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("combine", ["spin_all", "last_arriver"])
def test_the_handshake_compiles_to_its_memory_order_and_the_table_still_holds(
    combine: str,
) -> None:
    code, said = gate("--only", f"gqa_decode-d64-bf16-{combine}")

    assert (code, "3 rows, all as in the golden table" in said) == (0, True), said


def test_a_kernel_that_takes_more_than_the_table_says_is_a_diff_and_not_a_pass(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.json"
    name = "rmsnorm-4096"
    old = [row for row in golden.load() if row.configuration == name]
    golden.save([replace(row, registers=row.registers - 1) for row in old], path)

    code, said = gate("--only", name, "--golden", str(path))

    assert code == 1
    assert f"registers {old[0].registers - 1} -> {old[0].registers}" in said


def test_a_name_that_nothing_has_is_bad_usage() -> None:
    code, said = gate("--only", "no such kernel")

    assert code == 2
    assert "no configuration contains 'no such kernel'" in said
