"""Goal: a run always returns, and says what happened. Method: stacks that misbehave on purpose."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from chaos import history_file
from chaos.clock import ns
from chaos.contracts import Guard, Reading
from chaos.event import Kind
from chaos.experiment import Strike
from chaos.judge import judge
from chaos.run import run, run_control
from chaos.verdict import Outcome
from tests.chaos.fake_run import BUDGETS, experiment, judged, outcomes, whys
from tests.chaos.fake_stack import Crowd, FakeClients, FakeFault, FakeProbe, FakeStack, unreadable


def test_a_run_goes_through_every_phase_in_order_and_is_tolerated() -> None:
    history = judged(FakeStack(), Strike(FakeFault(), for_s=0.05))
    phases = [event.about for event in history.of(Kind.PHASE)]
    assert phases == ["steady", "disturb", "heal", "converge", "recover", "done"]
    assert outcomes(history) == [Outcome.TOLERATED], judge(history)


def test_a_hung_request_is_silent_and_does_not_hang_the_run() -> None:
    stack = FakeStack(FakeClients(hangs=frozenset({"r0"})))
    history = judged(stack, Strike(FakeFault(), for_s=0.3))
    (verdict,) = judge(history)
    assert verdict.outcome is Outcome.SILENT, verdict
    assert verdict.about == ("r0",)
    assert verdict.stage == "transfer"
    assert stack.clients.stopped == 1


def test_a_run_ends_soon_after_its_hung_requests_can_show_nothing_new() -> None:
    patient = replace(BUDGETS, converge_s=60.0)
    stack = FakeStack(FakeClients(hangs=frozenset({"r0"})))
    planned = experiment(Strike(FakeFault(), for_s=60.0), budgets=patient)
    control = run_control(planned, FakeStack())
    begun_s = time.monotonic()
    history = run(planned, stack, control)
    assert time.monotonic() - begun_s < 10
    assert outcomes(history) == [Outcome.SILENT]


def test_an_alert_that_fires_in_time_surfaces_the_hung_request() -> None:
    stack = FakeStack(
        FakeClients(hangs=frozenset({"r0"})), signals=[FakeProbe("prefill-0/inflight", 1.0)]
    )
    planned = replace(
        experiment(Strike(FakeFault(), for_s=0.3)), budgets=replace(BUDGETS, detect_s=2)
    )
    (verdict,) = judge(run(planned, stack, run_control(planned, FakeStack())))
    assert (verdict.outcome, verdict.by) == (Outcome.SURFACED, "inflight"), verdict


def test_a_load_generator_that_dies_proves_nothing() -> None:
    clients = FakeClients(wait_fails=RuntimeError("the load generator died"))
    history = judged(FakeStack(clients), Strike(FakeFault(), for_s=0.05))
    assert outcomes(history) == [Outcome.UNKNOWN]
    assert any("died" in why for why in whys(history))


def test_a_load_generator_that_does_not_start_proves_nothing() -> None:
    history = judged(FakeStack(FakeClients(start_hangs=True)), Strike(FakeFault(), for_s=0.05))
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_a_load_generator_that_was_late_proves_nothing() -> None:
    history = judged(FakeStack(FakeClients(lag_s=0.9)), Strike(FakeFault(), for_s=0.05))
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_a_slow_probe_delays_no_other_and_not_the_run() -> None:
    fast = FakeProbe("prefill-0/inflight")
    stack = FakeStack(FakeClients(takes_s=0.5), signals=[FakeProbe("slow/x", takes_s=20), fast])
    begun_s = time.monotonic()
    history = judged(stack, Strike(FakeFault(), for_s=0.05))
    assert time.monotonic() - begun_s < 10
    assert len(history.about("prefill-0/inflight")) >= 2
    assert not history.about("slow/x")


def test_a_resource_that_could_never_be_read_is_not_held_against_the_run() -> None:
    probe = FakeProbe("prefill-0/pages")
    stack = FakeStack(resources=[probe, unreadable("decode-0")])
    history = judged(stack, Strike(FakeFault(), for_s=0.05))
    assert outcomes(history) == [Outcome.TOLERATED]
    assert history.of(Kind.UNREADABLE)


def test_a_resource_that_stays_is_a_leak() -> None:
    probe = FakeProbe("prefill-0/pages")
    fault = FakeFault()
    planned = experiment(Strike(fault, for_s=0.05))
    control = run_control(planned, FakeStack())
    stack = FakeStack(FakeClients(takes_s=0.1), resources=[Growing(probe)])
    (verdict,) = judge(run(planned, stack, control))
    assert verdict.outcome is Outcome.LEAKED, verdict
    assert verdict.about == ("prefill-0/pages",)


class Growing:
    """One page more at every reading."""

    name = "prefill-0/pages"

    def __init__(self, probe: FakeProbe) -> None:
        self._probe = probe

    def read(self) -> Sequence[Reading]:
        self._probe.value += 1
        return self._probe.read()


class Stale:
    """A gauge that is written when a request passes, and missed the last one."""

    name = "prefill-0/pages"

    def __init__(self, clients: FakeClients) -> None:
        self._clients = clients

    def read(self) -> Sequence[Reading]:
        again = self._clients.played[-1:] == [("recover/again-1",)]
        return [Reading(self.name, float(bool(self._clients.played) and not again))]


def test_a_gauge_that_was_written_late_is_no_leak_once_another_request_has_passed() -> None:
    planned = experiment(Strike(FakeFault(), for_s=0.05), budgets=replace(BUDGETS, recover_s=5.0))
    control = run_control(planned, FakeStack())
    clients = FakeClients(takes_s=0.1)
    (verdict,) = judge(run(planned, FakeStack(clients, resources=[Stale(clients)]), control))
    assert ("recover/again-1",) in clients.played
    assert verdict.outcome is Outcome.TOLERATED, verdict


def test_a_probe_of_ours_that_breaks_proves_nothing() -> None:
    stack = FakeStack(signals=[FakeProbe("x/y", fails=KeyError("bug"))])
    assert outcomes(judged(stack, Strike(FakeFault(), for_s=0.05))) == [Outcome.UNKNOWN]


def test_observing_that_never_ends_does_not_hang_the_run() -> None:
    history = judged(FakeStack(observe_hangs=True), Strike(FakeFault(), for_s=0.05))
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_a_stack_that_refuses_the_lone_request_is_not_recovered() -> None:
    stack = FakeStack(FakeClients(refuses=frozenset({"recover/lone"})))
    history = judged(stack, Strike(FakeFault(), for_s=0.05))
    assert outcomes(history) == [Outcome.NOT_RECOVERED]


def test_the_capacity_probe_sends_as_many_at_once_as_the_load() -> None:
    stack = FakeStack()
    judged(stack, Strike(FakeFault(), for_s=0.05), load=Crowd(3, 0.05))
    assert stack.clients.played[-1] == tuple(f"recover/capacity-3/{i}" for i in range(3))


def test_an_honest_refusal_is_caught_by_the_reply_itself() -> None:
    stack = FakeStack(FakeClients(refuses=frozenset({"r0"})))
    (verdict,) = judge(judged(stack, Strike(FakeFault(), for_s=0.05)))
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, "error reply 503")


def test_the_specification_carries_the_guards_that_are_on() -> None:
    guards = {
        "on": Guard("on", on=True, knob="K", value="1.5", budget_s=2.0),
        "off": Guard("off", on=False, knob="K", value="1.5", budget_s=2.0),
    }
    history = run_control(experiment(), FakeStack(guards=guards))
    assert history.specification.guards == {"on": 2.0}
    assert history.specification.patience == {"on": 1.5}


def test_a_history_is_kept_while_it_happens_and_reads_back_equal(tmp_path: Path) -> None:
    planned = experiment(Strike(FakeFault(), for_s=0.05))
    control = run_control(planned, FakeStack())
    file = tmp_path / "history.jsonl"
    history = run(planned, FakeStack(), control, keep=file)
    assert history_file.read(file) == history


def test_a_workload_that_cannot_be_kept_says_so_before_it_runs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_control(experiment(), FakeStack(), keep=tmp_path / "nowhere" / "history.jsonl")


def test_the_bound_to_converge_counts_from_the_last_request_that_is_due() -> None:
    history = run_control(experiment(load=Crowd(2, due_s=0.8)), FakeStack())
    assert outcomes(history) == [Outcome.TOLERATED]
    assert len(history.lives) == 2 + 1 + 2  # the load, the lone request, the capacity probe


def test_a_hung_request_does_not_end_a_load_that_is_still_being_sent() -> None:
    late = Crowd(2, due_s=0.05, every_s=1.0)
    stack = FakeStack(FakeClients(hangs=frozenset({"r0"})))
    history = judged(stack, Strike(FakeFault(), for_s=0.05), load=late)
    assert history.lives["r1"].settled is not None


def test_a_request_has_the_bound_to_converge_in_full() -> None:
    clients = FakeClients(takes_s=1.2)  # more than its span, less than span and bound
    history = run_control(experiment(), FakeStack(clients))
    assert history.lives["r0"].settled is not None


def test_a_load_generator_that_is_never_done_does_not_hang_the_run() -> None:
    begun_s = time.monotonic()
    history = judged(FakeStack(FakeClients(never_done=True)), Strike(FakeFault(), for_s=0.05))
    assert time.monotonic() - begun_s < 10
    assert history.phase_ns("done") is not None


def test_a_strike_lasts_until_what_a_client_left_behind_should_have_been_let_go() -> None:
    """Else the undoing would free it, and nobody would know how long it would have been kept."""
    bound_s = 0.5
    budgets = replace(BUDGETS, release_s=bound_s, converge_s=5.0)
    planned = experiment(Strike(FakeFault(), for_s=60.0), budgets=budgets)
    stack = FakeStack(FakeClients(cancels=frozenset({"r0"})))
    history = run(planned, stack, run_control(planned, FakeStack()))
    (healed,), (left,) = history.of(Kind.HEALED), history.of(Kind.CANCELLED)
    assert healed.at_ns - left.at_ns >= ns(bound_s)


def test_a_strike_is_over_when_nothing_of_a_client_that_left_is_kept() -> None:
    planned = experiment(Strike(FakeFault(), for_s=60.0))
    begun_s = time.monotonic()
    run(planned, FakeStack(), run_control(planned, FakeStack()))
    assert time.monotonic() - begun_s < 30.0
