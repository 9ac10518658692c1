"""The staged kernel: where it hangs is predicted without torch, and the clamp holds it back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from stack.engine.guards.knob_validation import read_knobs
from stack.engine.kernel_hang import DecodeKernel, KernelHang, decode_kernel
from stack.engine.knobs import BadKnob, default_knobs
from stack.engine.ledger import Ledger
from stack.engine.metrics_page import metrics_page
from stack.engine.shape import Shape
from stack.engine.trace import Trace

ROOT = Path(__file__).parents[3]
BAD = {"SGLANG_SM120_MMA_TARGET_CTAS": "512", "PDCHAOS_SPLIT_COMBINE": "spin_all"}
UNCLAMPED = {**BAD, "PDCHAOS_SPLIT_CLAMP": "off"}
CONTEXT_MAX = 8192


def kernel(environment: Mapping[str, str]) -> DecodeKernel:
    return decode_kernel(read_knobs(environment, pytest.fail), Shape())


class Hung(Exception):
    """Instead of a thread that never comes back."""


class Stage:
    """A staged kernel, what it said, and an end to its hanging."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.kernel = KernelHang(kernel(environment), self.lines.append, self._hang)

    def _hang(self) -> None:
        raise Hung

    def hangs(self, context: int) -> bool:
        try:
            self.kernel.stage(context)
        except Hung:
            return True
        return False


def test_it_hangs_at_the_predicted_context_and_not_one_token_before() -> None:
    predicted = kernel(UNCLAMPED).hangs_from(CONTEXT_MAX)
    assert predicted == 3009  # 94 blocks of 32 tokens for each of 2 tiles fill 188 places
    stage = Stage(UNCLAMPED)
    assert not any(stage.hangs(context) for context in (1, 2000, predicted - 1))
    assert stage.lines == []
    assert stage.hangs(predicted)
    assert stage.hangs(CONTEXT_MAX)


def test_the_launch_that_hangs_says_its_whole_plan_before_it_does() -> None:
    stage = Stage(UNCLAMPED)
    assert stage.hangs(3010)
    (line,) = stage.lines
    assert "spin_all: context 3010, batch 1, heads 4, SGLANG_SM120_MMA_TARGET_CTAS=512" in line
    assert "splits 95, grid 190, residency 188: deadlock" in line
    assert "mla_decode-bf16-spin_all on rtx-pro-6000" in line


def test_the_good_launch_script_differs_in_one_knob_and_never_hangs() -> None:
    good = {**UNCLAMPED, "SGLANG_SM120_MMA_TARGET_CTAS": "184"}
    assert kernel(good).hangs_from(CONTEXT_MAX) is None
    assert not Stage(good).hangs(CONTEXT_MAX)


def test_the_clamp_holds_the_launch_back_and_says_so_once() -> None:
    stage = Stage(BAD)
    assert not any(stage.hangs(context) for context in range(3000, 3020))
    assert stage.kernel.clamped == 11
    (line,) = stage.lines
    assert line.startswith("SGLANG_SM120_MMA_TARGET_CTAS=512 is held back to 188 CTAs: ")
    assert "clamped from 95 splits" in line


def test_a_kernel_that_waits_for_nobody_is_neither_clamped_nor_hung() -> None:
    stage = Stage({"SGLANG_SM120_MMA_TARGET_CTAS": "512"})
    assert not stage.hangs(CONTEXT_MAX)
    assert stage.kernel.clamped == 0
    assert stage.lines == []


@pytest.mark.parametrize(
    ("more", "from_context"),
    [
        ({"PDCHAOS_EMULATED_GPU": "rtx-5090"}, 85 * 32 + 1),  # 170 places for 2 tiles
        ({"PDCHAOS_EMULATED_GPU": "rtx-5080"}, 42 * 32 + 1),
        ({"PDCHAOS_RESIDENT_CTAS": "40"}, 20 * 32 + 1),
        ({"PDCHAOS_RESIDENT_CTAS": "1000"}, None),
    ],
)
def test_another_gpu_hangs_elsewhere_and_a_number_overrules_it(
    more: dict[str, str], from_context: int | None
) -> None:
    assert kernel({**UNCLAMPED, **more}).hangs_from(CONTEXT_MAX) == from_context


def test_a_gpu_that_nobody_knows_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(
        BadKnob, match=r"PDCHAOS_EMULATED_GPU: expected one of rtx-pro-6000, .*h100"
    ):
        kernel({"PDCHAOS_EMULATED_GPU": "rtx-9090"})


def test_a_residency_without_a_place_for_each_tile_is_refused() -> None:
    with pytest.raises(ValueError, match="PDCHAOS_RESIDENT_CTAS: expected at least 2"):
        kernel({"PDCHAOS_RESIDENT_CTAS": "1"})


def test_the_metrics_page_tells_what_was_clamped() -> None:
    stage = Stage(BAD)
    stage.hangs(4000)
    page = metrics_page("decode", 16, stage.kernel.figures(), {}, Ledger(Trace(None, "decode-0")))
    assert 'sglang:kernel_clamped_total{engine_type="decode"} 1' in page.splitlines()
    assert 'sglang:kernel_target_ctas{engine_type="decode"} 512' in page.splitlines()
    assert 'sglang:kernel_resident_ctas{engine_type="decode"} 188' in page.splitlines()


def test_by_default_nothing_waits_and_the_clamp_is_on() -> None:
    assert default_knobs().combine == "last_arriver"
    assert default_knobs().clamp == "on"


def test_who_predicts_needs_no_torch() -> None:
    code = "import stack.engine.kernel_hang, sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 0
