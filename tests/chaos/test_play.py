"""A suite's one call: what passes, what is refused, what is broken, and the stack afterwards."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import pytest

from chaos import history_file
from chaos.arena import Arena, Wanted
from chaos.contracts import Armable, Stack
from chaos.experiment import Entering, Strike
from chaos.play import Play, Played
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.traits import Pace
from chaos.verdict import TOLERATED, Allowed, NotProven, Outcome
from faults.network import Stall
from tests.chaos.fake_stack import Crowd, FakeClients, FakeFault, FakeStack
from tests.chaos.test_accusers import Told

SHORT = Budgets(service_s=0.2, settle_s=0.4, detect_s=0.3, heal_s=1.0, converge_s=0.6, recover_s=1)
HANGS_WHEN_STRUCK = Strike(FakeFault(), for_s=0.6)


class Skipped(Exception):
    """What pytest.skip would have raised."""


def _skip(reason: str) -> NoReturn:
    raise Skipped(reason)


def _full_disk(played: Played) -> None:
    raise OSError(f"the disk is full: {played.file}")


@dataclass
class Launches:
    """Counts how often a stack was started and stopped."""

    started: int = 0
    stopped: int = 0
    lag_s: float = 0.0
    stacks: list[FakeStack] = field(default_factory=list[FakeStack])

    @contextmanager
    def launch(self) -> Generator[Stack]:
        self.started += 1
        self.stacks.append(FakeStack(clients=FakeClients(lag_s=self.lag_s)))
        yield self.stacks[-1]
        self.stopped += 1


@pytest.fixture
def launches() -> Launches:
    return Launches()


@pytest.fixture
def finished() -> list[Played]:
    return []


@pytest.fixture
def play(launches: Launches, finished: list[Played], tmp_path: Path) -> Play:
    return Play(
        name="an experiment",
        arena=Arena(),
        wanted=Wanted("1p1d", launches.launch),
        seed=3,
        file=tmp_path / "kept" / "history.jsonl",
        reproduce="pytest suites/ --seed 3",
        skip=_skip,
        finished=finished.append,
    )


def test_a_strike_that_hurts_nobody_is_tolerated_and_its_history_is_kept(
    play: Play, finished: list[Played]
) -> None:
    verdicts = play(Crowd(due_s=0.2), [Strike(FakeFault(), for_s=0.1)], budgets=SHORT)
    assert [one.outcome for one in verdicts] == [Outcome.TOLERATED]
    kept = history_file.read(finished[0].file)
    assert kept.specification.name == "an experiment"
    assert kept.control is not None


def test_a_hang_that_is_not_allowed_is_an_assertion_error_that_begins_with_the_verdict(
    play: Play, launches: Launches
) -> None:
    play(Crowd(), budgets=SHORT)  # the control is played before anything hangs
    launches.stacks[0].clients.hangs = frozenset({"r1"})
    with pytest.raises(AssertionError, match=r"^SILENT, not allowed") as failure:
        play(Crowd(), [HANGS_WHEN_STRUCK], budgets=SHORT)
    assert "pytest suites/ --seed 3" in str(failure.value)
    assert "r1" in str(failure.value)


def test_the_same_hang_passes_where_the_specification_expects_it(
    play: Play, launches: Launches
) -> None:
    play(Crowd(), budgets=SHORT)
    launches.stacks[0].clients.hangs = frozenset({"r1"})
    silent = Allowed(Outcome.SILENT)
    verdicts = play(Crowd(), [HANGS_WHEN_STRUCK], allowed=[silent], budgets=SHORT)
    assert verdicts[0].about == ("r1",)


def test_an_oracle_of_the_suites_own_makes_it_red(play: Play) -> None:
    calm = [Strike(FakeFault(), for_s=0.1)]
    load = Crowd(due_s=0.2)
    assert play(load, calm, budgets=SHORT, oracles=[Told(about=())])[0].outcome is Outcome.TOLERATED
    with pytest.raises(AssertionError, match=r"^WRONG, not allowed: .*r1 has a spelling mistake"):
        play(load, calm, budgets=SHORT, oracles=[Told()])


def test_what_is_no_oracle_is_refused_before_anything_is_played(
    play: Play, launches: Launches
) -> None:
    with pytest.raises(ValueError, match="outcome: expected one of WRONG"):
        play(Crowd(), oracles=[Told(outcome=Outcome.CAUGHT)])
    assert launches.started == 0


def test_a_fault_that_does_not_bite_is_broken_and_not_failed(play: Play) -> None:
    with pytest.raises(NotProven, match=r"^NO_OP"):
        play(Crowd(), [Strike(FakeFault(bites=False), for_s=0.1)], budgets=SHORT)


def test_a_stack_that_was_hurt_for_good_is_replaced(play: Play, launches: Launches) -> None:
    play(Crowd(), budgets=SHORT)
    launches.stacks[0].clients.hangs = frozenset({"r1"})
    with pytest.raises(AssertionError):
        play(Crowd(), [HANGS_WHEN_STRUCK], budgets=SHORT)
    assert (launches.started, launches.stopped) == (1, 1)
    play(Crowd(), budgets=SHORT)
    assert (launches.started, launches.stopped) == (2, 1)


def test_a_stack_that_was_hurt_is_replaced_although_the_report_failed(
    play: Play, launches: Launches
) -> None:
    """Its leak would be the next experiment's baseline."""
    play(Crowd(), budgets=SHORT)
    launches.stacks[0].clients.hangs = frozenset({"r1"})
    with pytest.raises(OSError, match="disk"):
        replace(play, finished=_full_disk)(Crowd(), [HANGS_WHEN_STRUCK], budgets=SHORT)
    assert launches.stopped == 1


def test_experiments_on_the_same_plan_share_the_stack_and_its_control(
    play: Play, launches: Launches
) -> None:
    play(Crowd(due_s=0.2), [Strike(FakeFault(), for_s=0.1)], budgets=SHORT)
    before = len(launches.stacks[0].clients.played)
    play(Crowd(due_s=0.2), [Strike(FakeFault(), for_s=0.1)], budgets=SHORT)
    load, lone, capacity = 1, 1, 1
    assert len(launches.stacks[0].clients.played) - before == load + lone + capacity
    assert launches.started == 1


def test_a_control_that_failed_spoils_one_experiment_and_not_all(
    play: Play, launches: Launches
) -> None:
    launches.lag_s = 0.9
    struck = [Strike(FakeFault(), for_s=0.1)]
    with pytest.raises(NotProven, match="in the control, our load generator was late"):
        play(Crowd(due_s=0.2), struck, budgets=SHORT)
    for stack in launches.stacks:
        stack.clients.lag_s = 0.0
    assert play(Crowd(due_s=0.2), struck, budgets=SHORT)[0].outcome is Outcome.TOLERATED


def test_another_plan_gets_another_stack_and_the_old_one_is_stopped(launches: Launches) -> None:
    arena = Arena()
    arena.stack(Wanted("1p1d", launches.launch))
    arena.stack(Wanted("1p2d", launches.launch))
    assert (launches.started, launches.stopped) == (2, 1)
    arena.close()
    assert launches.stopped == 2


def test_a_fault_that_this_stack_cannot_have_is_skipped_by_the_name_of_the_ability(
    play: Play,
) -> None:
    with pytest.raises(Skipped, match="fake is not Armable"):
        play(Crowd(), [Strike(FakeFault(needs=Armable))], budgets=SHORT)


SLOW = Pace(factor=2.0, usual_restart_s=0.1, restart_s=0.2, tokens_max=4)


def on(play: Play, **more: object) -> Play:
    """The same, on a stack that has these attributes as well."""
    stack = FakeStack(clients=FakeClients())
    vars(stack).update(more)
    return replace(play, wanted=Wanted(repr(more), lambda: nullcontext(stack)))


def test_a_trigger_that_this_stack_cannot_tell_is_skipped_by_the_name_of_the_stage(
    play: Play,
) -> None:
    mute = on(play, stages=frozenset({Stage.CLIENT, Stage.STREAM}))
    with pytest.raises(Skipped, match="fake does not tell when stage transfer begins"):
        mute(Crowd(), [Strike(FakeFault(), on=Entering("r1", Stage.TRANSFER))], budgets=SHORT)


def test_a_slower_stack_gets_its_time_and_a_calibrated_budget(
    play: Play, finished: list[Played]
) -> None:
    on(play, pace=SLOW)(Crowd(due_s=0.2), [Strike(FakeFault(), for_s=0.1)], budgets=SHORT)
    told = finished[0].history.specification
    assert told.budgets.service_s >= 2 * SHORT.service_s
    assert told.strikes[0].for_s == 0.2


def test_a_link_that_this_stack_does_not_have_is_skipped_by_its_name(play: Play) -> None:
    linked = on(play, links={})
    with pytest.raises(Skipped, match="fake has no link prefill-0->decode-0/kv"):
        linked(Crowd(), [Strike(Stall("prefill-0->decode-0/kv"))], budgets=SHORT)


def test_a_link_that_no_stack_has_is_an_error_and_no_skip(play: Play) -> None:
    linked = on(play, links={})
    with pytest.raises(NotProven):
        linked(Crowd(due_s=0.2), [Strike(Stall("prefill-0->decode-0/vk"))], budgets=SHORT)


def test_a_specification_that_allows_three_verdicts_is_refused(play: Play) -> None:
    three = [TOLERATED, Allowed(Outcome.CAUGHT), Allowed(Outcome.SURFACED)]
    with pytest.raises(ValueError, match="one verdict, or two"):
        play(Crowd(), allowed=three)


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.NO_OP])
def test_what_proves_nothing_can_never_be_allowed(outcome: Outcome) -> None:
    with pytest.raises(ValueError, match="proves nothing"):
        Allowed(outcome)
