"""ci/categories.json: the first line of every failure belongs to exactly one category."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from chaos.reports.failure import failure_text
from chaos.verdict import BROKEN, Outcome
from tests.chaos.reports.hand_written import hung
from tests.ci.required import ROOT

Category = dict[str, str | list[str]]
CATEGORIES = cast("list[Category]", json.loads((ROOT / "ci" / "categories.json").read_text()))


def sorted_into(status: str, message: str) -> list[str]:
    """The names of the categories that take this result, by Allure's own rule."""
    return [
        str(one["name"])
        for one in CATEGORIES
        if status in one["matchedStatuses"] and re.search(str(one["messageRegex"]), message)
    ]


@pytest.mark.parametrize("outcome", Outcome, ids=lambda one: one.name)
def test_a_refused_verdict_is_sorted_by_its_name_alone(outcome: Outcome) -> None:
    history, verdict = hung()
    # The reason speaks of other verdicts: only the first word may count.
    told = replace(verdict, outcome=outcome, reason="LEAKED, not allowed: SILENT, UNKNOWN")
    text = failure_text(history, [told], Path("history.jsonl"), "pytest again")
    broken = outcome in BROKEN
    message = f"{'chaos.verdict.NotProven' if broken else 'AssertionError'}: {text}"
    (category,) = sorted_into("broken" if broken else "failed", message)
    assert outcome.value in category


@pytest.mark.parametrize(
    ("status", "message", "category"),
    [
        ("skipped", "Skipped: attach is not Freezable: no freeze on it", "the ability"),
        ("skipped", "Skipped: needs a GPU", "not on this machine"),
        ("broken", "RuntimeError: SILENT, they said", "Our own error"),
        ("failed", "AssertionError: assert 1 == 2", "Our own error"),
        ("broken", "stack.node_process.NodeFailed: decode-0", "Our own error"),
    ],
)
def test_everything_else_has_a_category_too(status: str, message: str, category: str) -> None:
    (found,) = sorted_into(status, message)
    assert category in found


def test_a_test_that_passed_has_no_category() -> None:
    assert sorted_into("passed", "") == []
