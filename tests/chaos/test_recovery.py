"""Goal: a pool is never a leak, a leak never a pool. Method: fake stacks that keep either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from chaos import recovery
from chaos.contracts import Reading
from chaos.experiment import Strike
from chaos.history import History
from chaos.judge import judge
from chaos.run import run, run_control
from chaos.verdict import Outcome
from tests.chaos.fake_run import BUDGETS, experiment
from tests.chaos.fake_stack import Crowd, FakeClients, FakeFault, FakeProbe, FakeStack

PATIENT = replace(BUDGETS, recover_s=0.5)
Played = Sequence[tuple[str, ...]]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that these stacks take is given back late."""
    monkeypatch.setattr(recovery, "SETTLE_S", 0.05)


@dataclass
class Kept:
    """Reads what a stack keeps of something, from all the batches that it was asked to serve."""

    clients: FakeClients
    of: Callable[[Played], float]
    name: str = "router/established"
    idle: bool = False

    def read(self) -> Sequence[Reading]:
        return [Reading(self.name, self.of(self.clients.played), self.idle)]


def most(played: Played) -> int:
    return max((len(batch) for batch in played), default=0)


def total(played: Played) -> int:
    return sum(len(batch) for batch in played)


def played(of: Callable[[Played], float], name: str = "router/established") -> History:
    planned = experiment(
        Strike(FakeFault(), for_s=0.05), budgets=PATIENT, load=Crowd(4, due_s=0.05)
    )
    control = run_control(planned, FakeStack(resources=[FakeProbe(name)]))
    clients = FakeClients()
    return run(planned, FakeStack(clients, resources=[Kept(clients, of, name)]), control)


def asked(history: History) -> list[str]:
    """What was asked after the lone request and the capacity probe."""
    groups = (one.removeprefix("recover/").partition("/")[0] for one in history.lives)
    return [one for one in dict.fromkeys(groups) if one.startswith(("round", "burst"))]


def test_where_there_is_no_question_nothing_is_asked() -> None:
    history = played(lambda _: 4.0)  # the same before and after
    assert asked(history) == []
    assert [one.outcome for one in judge(history)] == [Outcome.TOLERATED]


def test_what_the_load_alone_explains_is_not_asked_about() -> None:
    history = played(lambda batches: float(most(batches)))  # 4 for 9 requests
    assert asked(history) == []
    assert [one.outcome for one in judge(history)] == [Outcome.TOLERATED]


def test_a_pool_that_has_grown_to_the_load_is_asked_once() -> None:
    history = played(lambda batches: 2.0 * most(batches))
    assert asked(history) == ["round-1"]
    assert [one.outcome for one in judge(history)] == [Outcome.TOLERATED]


def test_a_pool_that_the_strike_has_filled_serves_a_burst_and_is_no_leak() -> None:
    history = played(lambda batches: float(max(40, 2 * most(batches))) if batches else 0.0)
    assert asked(history) == ["round-1", "burst-20"]
    assert [one.outcome for one in judge(history)] == [Outcome.TOLERATED]


def test_what_the_strike_has_left_and_nobody_uses_is_a_leak() -> None:
    history = played(lambda batches: 40.0 + most(batches) if batches else 0.0)
    assert asked(history) == ["round-1", "burst-22"]
    (verdict,) = judge(history)
    assert verdict.outcome is Outcome.LEAKED, verdict
    assert "did not serve 22 at once" in verdict.reason


@pytest.mark.parametrize("name", ["decode-0/fds", "decode-0/threads", "router/established"])
def test_one_for_each_request_is_a_leak_that_no_tolerance_hides(name: str) -> None:
    history = played(lambda batches: float(total(batches)), name)
    assert asked(history) == ["round-1", "round-2", "round-3"]
    (verdict,) = judge(history)
    assert verdict.outcome is Outcome.LEAKED, verdict
    assert f"{name} grows with each round of 4 requests: 9, 13, 17, 21" in verdict.reason


def test_one_for_every_fourth_request_may_be_a_pool() -> None:
    history = played(lambda batches: 5.0 + total(batches) // 4 if batches else 0.0)
    assert asked(history) == ["round-1"]
    assert [one.outcome for one in judge(history)] == [Outcome.TOLERATED]


def test_memory_that_grows_with_each_round_is_a_leak() -> None:
    name = "decode-0/resident_bytes"
    leaking = played(lambda batches: 1000.0 + 100 * total(batches), name)
    assert asked(leaking) == ["round-1", "round-2", "round-3"]
    assert [one.outcome for one in judge(leaking)] == [Outcome.LEAKED]


def test_memory_that_stays_where_the_load_has_brought_it_is_a_cache() -> None:
    name = "decode-0/resident_bytes"
    cached = played(lambda batches: 2000.0 if batches else 1000.0, name)
    assert asked(cached) == ["round-1"]
    assert [one.outcome for one in judge(cached)] == [Outcome.TOLERATED]


def test_a_round_that_is_not_served_shows_no_recovery() -> None:
    planned = experiment(
        Strike(FakeFault(), for_s=0.05), budgets=PATIENT, load=Crowd(4, due_s=0.05)
    )
    control = run_control(planned, FakeStack(resources=[FakeProbe("router/fds")]))
    clients = FakeClients(refuses=frozenset({"recover/round-1/0"}))
    leaking = Kept(clients, lambda batches: float(total(batches)), "router/fds")
    history = run(planned, FakeStack(clients, resources=[leaking]), control)
    assert [one.outcome for one in judge(history)] == [Outcome.NOT_RECOVERED]


@dataclass
class Trailing:
    """An idle gauge that shows one for as many readings as it trails behind the last batch."""

    clients: FakeClients
    readings: int
    name: str = "router/active"
    batches: int = 0
    left: int = 0

    def read(self) -> Sequence[Reading]:
        if len(self.clients.played) > self.batches:
            self.batches, self.left = len(self.clients.played), self.readings
        self.left -= 1
        return [Reading(self.name, float(self.left >= 0), True)]


def test_a_gauge_that_trails_behind_the_last_round_is_no_leak() -> None:
    planned = experiment(
        Strike(FakeFault(), for_s=0.05), budgets=PATIENT, load=Crowd(4, due_s=0.05)
    )
    clients = FakeClients()
    control = run_control(planned, FakeStack(resources=[FakeProbe("router/established")]))
    pool = Kept(clients, lambda batches: 2.0 * most(batches))
    stack = FakeStack(clients, resources=[pool, Trailing(clients, readings=2)])
    history = run(planned, stack, control)
    assert asked(history) != [], "no round was asked, so that nothing trails"
    assert [one.outcome for one in judge(history)] == [Outcome.TOLERATED]


def test_a_gauge_that_is_zero_when_nothing_runs_is_held_to_zero_whatever_the_control_says() -> None:
    planned = experiment(Strike(FakeFault(), for_s=0.05), budgets=PATIENT)

    def remembering(value: float) -> FakeStack:
        clients = FakeClients()
        gauge = Kept(clients, lambda batches: value if batches else 0.0, "prefill-0/running", True)
        return FakeStack(clients, resources=[gauge])

    for value in (1.0, -1.0):
        control = run_control(planned, remembering(value))
        assert [one.outcome for one in judge(control)] == [Outcome.LEAKED]
        history = run(planned, remembering(value), control)
        assert "is at" in str(judge(history)[0].reason)
    well = run_control(planned, remembering(0.0))
    assert [one.outcome for one in judge(well)] == [Outcome.TOLERATED]
