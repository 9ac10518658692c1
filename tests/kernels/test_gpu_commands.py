"""What measures a GPU says so when there is none, and judges its figures as promised."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kernels.trials.child import ROOT

ANSWER_S_MAX = 60
JUDGE = """
from kernels.bandwidth import Row
from kernels.card import Card
from kernels.bandwidth import splits_for
row = Row("gqa_decode", 32_768, 1, 850, 1.0, {"torch SDPA": 2.0})
print(row.judged(1000.0), row.judged(1001.0), sep="|", end="|")
print(Row("g", 32_768, 1, 1000, 1.0, {"peer": 0.9}).judged(1000.0), end="|")
print(repr(Row("g", 4_096, 1, 1, 1.0).judged(1000.0)), end="|")
card = Card("an H200", 90, 132, 1 << 37)
print(splits_for(card, 131_072, 1, 8, 64), splits_for(card, 128, 1, 8, 64))
"""

REHEARSE = """
from kernels.reproduce import launched
from kernels.turns import taking_turns
with taking_turns(resident_max=8):
    print(launched(8, "cpu"), launched(9, "cpu"), sep="|")
"""


def ran(*command: str) -> tuple[int, str]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
        timeout=ANSWER_S_MAX,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("command", ["bandwidth", "reproduce"])
def test_without_a_gpu_a_measurement_is_bad_usage_and_not_a_result(command: str) -> None:
    code, said = ran(sys.executable, "-m", "kernels", command)

    assert (code, "no CUDA GPU here" in said) == (2, True), said


def test_a_figure_meets_the_goal_only_when_fast_enough_and_behind_no_peer() -> None:
    code, said = ran(sys.executable, "-c", JUDGE)

    assert code == 0, said
    met, slow, beaten, short = said.splitlines()[0].split("|")[:4]
    assert met == "goal met"
    assert slow == "MISSED: below 85% of copy"
    assert beaten == "MISSED: slower than peer"
    assert short == "''"
    assert said.split("|")[-1].split() == ["66", "2"]


def test_the_reproduction_gives_up_exactly_when_more_ctas_wait_than_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")

    code, said = ran(sys.executable, "-c", REHEARSE)

    assert code == 0, said
    assert said.splitlines()[-1] == "ran through|gave up waiting"
