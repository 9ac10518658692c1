"""Goal: only what a busy machine left undecided is played again, at most twice, and always told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

import chaos.play as playing
from chaos import history_file
from chaos.arena import Arena, Wanted
from chaos.history import History
from chaos.play import AGAIN_MAX, Play, Played
from chaos.specification import Budgets
from chaos.verdict import NotProven, Outcome, Verdict
from tests.chaos.fake_stack import Crowd
from tests.chaos.test_play import Launches

SHORT = Budgets(service_s=0.2, settle_s=0.4, detect_s=0.3, heal_s=1.0, converge_s=0.6, recover_s=1)
GOOD = Verdict("1: freeze", Outcome.TOLERATED, "none was affected")
BUSY = Verdict("1: freeze", Outcome.UNKNOWN, "late by 0.70 s", of_machine=True)
Judging = Callable[..., None]


def _no_skip(reason: str) -> NoReturn:
    raise AssertionError(reason)


@pytest.fixture
def undecided() -> list[Played]:
    return []


@pytest.fixture
def play(tmp_path: Path, undecided: list[Played]) -> Play:
    return Play(
        name="an experiment",
        arena=Arena(),
        wanted=Wanted("1p1d", Launches().launch),
        seed=3,
        file=tmp_path / "history.jsonl",
        reproduce="pytest",
        skip=_no_skip,
        finished=lambda _: None,
        undecided=undecided.append,
    )


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> Judging:
    """Each run of the test gets the next of these verdicts, and there is no further one."""

    def verdicts(*told: tuple[Verdict, ...]) -> None:
        coming: Iterator[tuple[Verdict, ...]] = iter(told)

        def judge(_: History, _accusers: object) -> tuple[Verdict, ...]:
            return next(coming)

        monkeypatch.setattr(playing, "judge", judge)

    return verdicts


def test_what_a_busy_machine_left_undecided_is_played_again_and_told(
    play: Play, undecided: list[Played], judging: Judging
) -> None:
    judging((BUSY,), (GOOD,))
    assert play(Crowd(), budgets=SHORT) == (GOOD,)
    assert [one.verdicts for one in undecided] == [(BUSY,)]
    assert [one.verdicts for one in play.played] == [(GOOD,)]


def test_after_two_more_tries_it_stays_undecided(
    play: Play, undecided: list[Played], judging: Judging
) -> None:
    judging(*[(BUSY,)] * (1 + AGAIN_MAX))
    with pytest.raises(NotProven, match=r"^UNKNOWN"):
        play(Crowd(), budgets=SHORT)
    assert len(undecided) == AGAIN_MAX == 2


def test_no_history_is_overwritten(play: Play, judging: Judging) -> None:
    judging((BUSY,), (BUSY,), (GOOD,))
    play(Crowd(), budgets=SHORT)
    assert len(set(play.files)) == 3
    assert all(history_file.read(one).specification.name == play.name for one in play.files)


SILENT = Verdict("1: freeze", Outcome.SILENT, "r1 hung")
OURS = Verdict("1: freeze", Outcome.UNKNOWN, "the tool itself failed")
VACUOUS = Verdict("1: freeze", Outcome.NO_OP, "did not bite")


@pytest.mark.parametrize(
    "first",
    [(SILENT,), (OURS,), (VACUOUS,), (BUSY, SILENT), (BUSY, OURS), (BUSY, VACUOUS)],
    ids=["silent", "our own failure", "no-op", "busy+silent", "busy+ours", "busy+no-op"],
)
def test_nothing_else_is_ever_played_again(
    play: Play, undecided: list[Played], judging: Judging, first: tuple[Verdict, ...]
) -> None:
    """A second try would come out green: it must never be asked for."""
    numbered = tuple(replace(one, strike=f"{index}: freeze") for index, one in enumerate(first))
    judging(numbered, (GOOD,))
    with pytest.raises((AssertionError, NotProven)):
        play(Crowd(), budgets=SHORT)
    assert undecided == []
    assert len(play.files) == 1


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.TOLERATED])
def test_no_verdict_but_the_machine_s_own_is_tried_twice(
    play: Play, judging: Judging, outcome: Outcome
) -> None:
    judging((Verdict("1: freeze", outcome, "why"),), (GOOD,))
    with pytest.raises((AssertionError, NotProven)):
        play(Crowd(), budgets=SHORT)


def test_the_stack_is_kept_for_the_next_try_when_it_is_well(
    play: Play, undecided: list[Played], judging: Judging
) -> None:
    launches = Launches()
    judging((BUSY,), (GOOD,))
    replace(play, wanted=Wanted("1p1d", launches.launch))(Crowd(), budgets=SHORT)
    assert (launches.started, len(undecided)) == (1, 1)


def test_a_lag_of_our_own_is_played_again_for_real(play: Play, undecided: list[Played]) -> None:
    launches = Launches(lag_s=0.9)

    def quiet(played: Played) -> None:
        undecided.append(played)
        for one in launches.stacks:
            one.clients.lag_s = 0.0

    mine = replace(play, wanted=Wanted("1p1d", launches.launch), undecided=quiet)
    assert [one.outcome for one in mine(Crowd(), budgets=SHORT)] == [Outcome.TOLERATED]
    assert "late by 0.90 s" in undecided[0].verdicts[0].reason
