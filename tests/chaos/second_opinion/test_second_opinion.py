"""Goal: the judge keeps its promise. Method: an independent model of the promise and the judge are
asked about the same random histories; the smallest one about which they disagree is printed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from chaos.clock import ns
from chaos.history import History
from chaos.history_file import read, write
from chaos.judge import judge
from chaos.verdict import Outcome, Verdict
from tests.chaos.second_opinion.difference import differences
from tests.chaos.second_opinion.drawn import drawn
from tests.chaos.second_opinion.opinion import opinions
from tests.chaos.second_opinion.readable import report
from tests.chaos.second_opinion.shrink import shrunk

SEED = 1
BLOCKS, EACH = 5, 400
FEW = 120


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_judge_and_the_model_agree(block: int, request: pytest.FixtureRequest) -> None:
    nobody_reads = request.config.option.tbstyle == "no"  # a mutant's run: that it fails is enough
    for number in range(block * EACH, (block + 1) * EACH):
        history = drawn(SEED, number)
        found = differences(history)
        if found:
            kind = found[0].kind
            differs = partial(_differs, kind=kind)
            small = history if nobody_reads else shrunk(history, differs)
            pytest.fail(report(small, differences(small), SEED, number))


def _differs(history: History, kind: tuple[str, str, bool]) -> bool:
    return any(each.kind == kind for each in differences(history))


def test_every_outcome_comes_up_often() -> None:
    told = Counter(each.outcome for n in range(EACH) for each in opinions(drawn(SEED, n)))
    assert set(told) == set(Outcome)
    assert min(told.values()) >= EACH // 100, told


def test_a_history_is_the_same_each_time_it_is_drawn() -> None:
    assert drawn(SEED, 7).events == drawn(SEED, 7).events
    assert drawn(SEED, 7).events != drawn(SEED + 1, 7).events


@pytest.mark.parametrize("number", range(FEW))
def test_another_time_and_another_order_of_the_same_moment_change_no_verdict(number: int) -> None:
    history = drawn(SEED, number)
    assert _said(judge(_later(history))) == _said(judge(history))
    assert _said(judge(_mixed(history))) == _said(judge(history))


def test_the_way_through_a_file_changes_no_verdict(tmp_path: Path) -> None:
    for number in range(FEW):
        history = drawn(SEED, number)
        write(tmp_path / "history.jsonl", history)
        assert judge(read(tmp_path / "history.jsonl")) == judge(history), number


def test_a_judge_that_swaps_two_outcomes_is_noticed(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def lenient(history: History) -> tuple[Verdict, ...]:
        return tuple(
            replace(one, outcome=Outcome.SURFACED) if one.outcome is Outcome.SILENT else one
            for one in judge(history)
        )

    monkeypatch.setattr("tests.chaos.second_opinion.difference.judge", lenient)
    with pytest.raises(pytest.fail.Exception, match="the model says SILENT; the judge says SURF"):
        test_the_judge_and_the_model_agree(0, request)


def _said(verdicts: tuple[Verdict, ...]) -> list[tuple[object, ...]]:
    """All but the words, which number the events."""
    return [(v.strike, v.outcome, v.by, v.after_s, v.together) for v in verdicts]


def _later(history: History) -> History:
    """The same on a machine that has been up for longer."""
    later = tuple(replace(one, at_ns=one.at_ns + ns(12345.5)) for one in history)
    control = None if history.control is None else _later(history.control)
    return replace(history, events=later, control=control)


def _mixed(history: History) -> History:
    """What happened at the same moment to different things, in another order."""
    by_name = sorted(history.events, key=lambda one: one.about, reverse=True)
    marks = [replace(one, seq=0) for one in sorted(by_name, key=lambda one: one.at_ns)]
    return replace(history, events=tuple(replace(one, seq=n) for n, one in enumerate(marks)))
