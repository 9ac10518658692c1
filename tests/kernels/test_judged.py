"""The prover against launches whose truth is known: locks, barriers, races, endless loops."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

JUDGED = Path(__file__).with_name("judged")
ROWS: dict[str, dict[str, Any]] = {
    row["name"]: row
    for path in sorted(JUDGED.glob("*.toml"))
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["launch"]
}
Ask = Callable[[str], dict[str, Any]]


@pytest.mark.parametrize("name", ROWS)
def test_no_more_and_no_less_is_said_than_what_is_true(answers: Ask, name: str) -> None:
    said = answers("judged_experiments.py")[name]

    assert said["answer"] == ROWS[name]["answer"], said["lines"]
    assert ROWS[name].get("says", "") in "\n".join(said["lines"])


@pytest.mark.parametrize(
    "name", [name for name, row in ROWS.items() if row["answer"].startswith("DEADLOCK")]
)
def test_the_witness_of_a_deadlock_hangs_when_it_is_played_again(answers: Ask, name: str) -> None:
    assert answers("judged_experiments.py")[name]["again"] == "DEADLOCK, proven"
