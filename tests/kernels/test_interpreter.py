"""The corrections of Triton's interpreter; each is told apart from the stock one's fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Answers = dict[str, Any]
Ask = Callable[[str], Answers]


@pytest.fixture
def found(answers: Ask) -> Answers:
    return answers("interpreter_experiments.py")


@pytest.mark.parametrize("conversion", ["bf16", "e4m3", "e4m3 from bf16", "e4m3 from fp16"])
def test_every_conversion_has_the_bits_of_torch_and_stock_has_not(
    found: Answers, conversion: str
) -> None:
    assert found["corrected"][conversion] == 0
    assert found["stock"][conversion] > 100


def test_a_bf16_dot_multiplies_values_and_not_bits(found: Answers) -> None:
    assert found["corrected"]["dot"] < 1e-5
    assert found["stock"]["dot"] > 1e6


def test_a_poll_without_a_timeout_waits_where_stock_raises(found: Answers) -> None:
    assert "AttributeError" in found["stock poll"]
    assert found["poll"] == "[1, 1]"


def test_programs_run_x_fastest(found: Answers) -> None:
    assert found["corrected"]["order"] == [0, 1, 2, 3, 4, 5]
    assert found["stock"]["order"] != [0, 1, 2, 3, 4, 5]


def test_a_launch_leaves_tritons_language_as_it_was(found: Answers) -> None:
    assert found["corrected"]["patched"] is False
