"""Goal: the verdict is one total function. Method: every combination, against independent rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import product

import pytest

from chaos.facts import Facts, outcome
from chaos.verdict import Outcome

NAMES = [one.name for one in fields(Facts)]
EVERY = [
    Facts(**dict(zip(NAMES, values, strict=True)))
    for values in product((False, True), repeat=len(NAMES))
]
CLEAN = Facts(
    complete=True,
    bit=True,
    affected=False,
    answered=True,
    surfaced=False,
    wrong=False,
    recovered=True,
    misrouted=False,
    leaked=False,
    false_alarm=False,
)
# What each verdict claims, said again in other words than the function's.
CLAIMS: dict[Outcome, Callable[[Facts], bool]] = {
    Outcome.UNKNOWN: lambda f: not f.complete,
    Outcome.NO_OP: lambda f: f.complete and not f.bit,
    Outcome.SILENT: lambda f: _late(f) and not _told(f),
    Outcome.WRONG: lambda f: f.wrong and not (_late(f) and not _told(f)),
    Outcome.NOT_RECOVERED: lambda f: not f.recovered and not f.wrong,
    Outcome.MISROUTED: lambda f: f.misrouted and f.recovered,
    Outcome.LEAKED: lambda f: f.leaked and not f.misrouted,
    Outcome.FALSE_ALARM: lambda f: f.false_alarm and not f.leaked,
    Outcome.SURFACED: lambda f: _late(f) and _told(f) and not _hurts(f),
    Outcome.CAUGHT: lambda f: f.affected and not _late(f) and not _hurts(f),
    Outcome.TOLERATED: lambda f: not f.affected and not _hurts(f),
}


def _late(facts: Facts) -> bool:
    return facts.affected and not facts.answered


def _told(facts: Facts) -> bool:
    return facts.surfaced


def _hurts(facts: Facts) -> bool:
    return (
        facts.wrong or facts.misrouted or facts.leaked or facts.false_alarm or not facts.recovered
    )


def test_every_combination_has_the_verdict_that_its_claim_describes() -> None:
    assert len(EVERY) == 2**10
    for facts in EVERY:
        result = outcome(facts)
        assert CLAIMS[result](facts), (result, facts)
        if result not in (Outcome.UNKNOWN, Outcome.NO_OP):
            assert facts.complete
            assert facts.bit


def test_every_verdict_is_reached_by_some_combination() -> None:
    assert set(Counter(outcome(one) for one in EVERY)) == set(Outcome)


def test_an_incomplete_history_neither_clears_nor_accuses_whatever_else_is_true() -> None:
    assert {outcome(one) for one in EVERY if not one.complete} == {Outcome.UNKNOWN}


def test_a_strike_that_did_not_bite_neither_clears_nor_accuses() -> None:
    assert {outcome(one) for one in EVERY if one.complete and not one.bit} == {Outcome.NO_OP}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, Outcome.TOLERATED),
        ({"affected": True}, Outcome.CAUGHT),
        ({"affected": True, "answered": False}, Outcome.SILENT),
        ({"affected": True, "answered": False, "surfaced": True}, Outcome.SURFACED),
        ({"wrong": True}, Outcome.WRONG),
        ({"recovered": False}, Outcome.NOT_RECOVERED),
        ({"misrouted": True}, Outcome.MISROUTED),
        ({"leaked": True}, Outcome.LEAKED),
        ({"false_alarm": True}, Outcome.FALSE_ALARM),
        ({"affected": True, "leaked": True}, Outcome.LEAKED),
        ({"surfaced": True}, Outcome.TOLERATED),
    ],
)
def test_each_single_fact_leads_to_its_verdict(change: dict[str, bool], expected: Outcome) -> None:
    assert outcome(replace(CLEAN, **change)) is expected


def test_a_fact_that_is_bad_news_never_makes_a_verdict_better() -> None:
    """Turn one fact bad: the verdict stays or gets worse. (An unanswered ending of nothing is bad
    news of nothing.)"""
    order = list(Outcome)
    bad = {"wrong": True, "misrouted": True, "leaked": True, "false_alarm": True}
    bad |= {"recovered": False, "answered": False, "surfaced": False, "affected": True}
    bad |= {"bit": False, "complete": False}
    for facts in EVERY:
        for name, value in bad.items():
            worse = outcome(replace(facts, **{name: value}))
            assert order.index(worse) >= order.index(outcome(facts)), (name, facts)
