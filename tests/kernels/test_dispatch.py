"""The engine's kernels are the same by torch and by launch, and the choice between them is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernels.trials.child import ROOT, TrialChild

CALL = """
import sys, torch
from kernels import dispatch
query, pool = torch.ones(2, 16), torch.ones(2, 4, 1, 16)
try:
    table = torch.tensor([1], dtype=torch.int32)
    out = dispatch.paged_decode_attention(query, pool, pool, table, 3)
    print(out.sum().item(), "triton" in sys.modules)
except ValueError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def child() -> Iterator[TrialChild]:
    with TrialChild() as running:
        yield running


def said(knob: str | None, tmp_path: Path) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    environment |= {} if knob is None else {"PDCHAOS_KERNELS": knob}
    command = [sys.executable, "-c", CALL]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    ).stdout.strip()


@pytest.mark.parametrize("name", ["engine decode", "engine prefill", "engine pages"])
def test_a_launch_gives_what_torch_gives(child: TrialChild, name: str) -> None:
    child.demand(name)


def test_a_cpu_is_served_by_torch_and_triton_is_not_even_imported(tmp_path: Path) -> None:
    assert said(None, tmp_path) == "32.0 False"


def test_interpret_runs_the_triton_source(tmp_path: Path) -> None:
    assert said("interpret", tmp_path) == "32.0 True"


def test_a_word_that_means_nothing_is_refused(tmp_path: Path) -> None:
    assert "expected one of reference, triton, interpret" in said("fast", tmp_path)


def test_triton_without_a_gpu_is_refused(tmp_path: Path) -> None:
    assert "needs a GPU" in said("triton", tmp_path)
