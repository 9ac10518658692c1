"""Goal: a specification accepts what it names, and nothing else. Method: one verdict at a time."""

from __future__ import annotations

import pytest

from chaos.verdict import (
    TOLERATED,
    Allowed,
    Outcome,
    Verdict,
    accepted,
    caught_by,
    surfaced_by,
)


@pytest.mark.parametrize(
    ("outcome", "by", "allowed", "expected"),
    [
        (Outcome.TOLERATED, None, [TOLERATED], True),
        (Outcome.CAUGHT, "a", [TOLERATED], False),
        (Outcome.CAUGHT, "a", [caught_by("a")], True),
        (Outcome.CAUGHT, "b", [caught_by("a")], False),
        (Outcome.CAUGHT, "a+b", [caught_by("a")], False),  # b caught, too, and is not allowed
        (Outcome.CAUGHT, "a+b", [caught_by("a"), caught_by("b")], True),
        (Outcome.CAUGHT, "a+b", [Allowed(Outcome.CAUGHT)], True),
        (Outcome.SURFACED, "a", [caught_by("a")], False),
        (Outcome.SURFACED, "a", [surfaced_by("a")], True),
        (Outcome.TOLERATED, None, [], False),
        (Outcome.UNKNOWN, None, [TOLERATED], False),
    ],
)
def test_a_verdict_is_accepted_only_when_each_of_its_guards_is_allowed(
    outcome: Outcome,
    by: str | None,
    allowed: list[Allowed],
    expected: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert accepted(Verdict("S1", outcome, "why", by), allowed) is expected


@pytest.mark.parametrize(
    ("outcome", "expected"), [(Outcome.TOLERATED, True), (Outcome.CAUGHT, False)]
)
def test_what_happened_without_a_strike_is_allowed_by_nobody(
    outcome: Outcome,
    expected: bool,  # noqa: FBT001 - a row of the table
) -> None:
    verdict = Verdict("fault-free", outcome, "because", "a", unpromised=True)
    assert accepted(verdict, [TOLERATED, caught_by("a")]) is expected
    assert accepted(verdict, []) is expected
