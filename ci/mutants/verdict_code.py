"""Which modules decide verdicts, and which tests judge a mutant of each: its own ones first."""

from __future__ import annotations

from pathlib import Path
from typing import Final

# The first ones kill most, in the least time.
TESTS: Final = (
    "tests/chaos/test_judge.py",
    "tests/chaos/test_case.py",
    "tests/chaos/test_busy_machine.py",
    "tests/chaos/test_verdict_words.py",
    "tests/chaos/test_together.py",
    "tests/chaos/test_histories.py",
    "tests/chaos/test_control.py",
    "tests/chaos/oracles",
    "tests/chaos/test_blow.py",
    "tests/chaos/test_charge.py",
    "tests/chaos/test_deaths.py",
    "tests/chaos/test_detection.py",
    "tests/chaos/test_baseline.py",
    "tests/chaos/test_facts.py",
    "tests/chaos/test_fate.py",
    "tests/chaos/test_accusers.py",
    "tests/chaos/second_opinion",
)
DECIDING: Final = (
    "chaos/accusation.py",
    "chaos/baseline.py",
    "chaos/blow.py",
    "chaos/case.py",
    "chaos/charge.py",
    "chaos/deaths.py",
    "chaos/detection.py",
    "chaos/ending.py",
    "chaos/facts.py",
    "chaos/fate.py",
    "chaos/judge.py",
    "chaos/route.py",
    "chaos/target.py",
)


def modules(root: Path) -> list[str]:
    """ValueError: one has moved, and this list has not."""
    gone = [one for one in DECIDING if not (root / one).is_file()]
    if gone:
        raise ValueError(
            f"expected {', '.join(gone)}: verdict code has moved on, this list has not"
        )
    oracles = sorted((root / "chaos/oracles").glob("*.py"))
    return [*DECIDING, *(f"chaos/oracles/{one.name}" for one in oracles)]


def judged_by(root: Path, file: str) -> list[str]:
    """Its own tests first: they are the quickest to notice."""
    part = file.removeprefix("chaos/").removesuffix(".py")
    folder, _, name = part.rpartition("/")
    own = "/".join(each for each in ("tests/chaos", folder, f"test_{name}.py") if each)
    first = [own] if (root / own).is_file() else []
    return [*first, *(each for each in TESTS if each not in first)]
