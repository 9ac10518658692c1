"""Goal: a finding is one sentence that is read. Method: symptoms by hand."""

from __future__ import annotations

import pytest

from chaos.oracles.symptom import Symptom, sentence


@pytest.mark.parametrize(("count", "more"), [(1, ""), (5, ""), (6, "; and 1 more")])
def test_the_first_five_are_named(count: int, more: str) -> None:
    told = sentence([Symptom(f"r{index}", "hung", 0, 1) for index in range(count)])
    assert told == "; ".join(f"r{index} hung" for index in range(min(count, 5))) + more
