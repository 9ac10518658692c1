"""Goal: each strike begins, ends and is undone on its own. Method: faults that hang and fail."""

from __future__ import annotations

import time

from chaos.blow import blows
from chaos.clock import ns
from chaos.event import Kind
from chaos.experiment import At, Entering, Strike
from chaos.judge import judge
from chaos.run import run, run_control
from chaos.stage import Stage
from chaos.verdict import Outcome
from tests.chaos.fake_run import experiment, judged, outcomes, whys
from tests.chaos.fake_stack import FakeClients, FakeFault, FakeProof, FakeStack, FakeTrap


def test_a_run_waits_for_a_strike_that_is_still_to_come() -> None:
    stack = FakeStack(FakeClients(hangs=frozenset({"r0"})))
    planned = experiment(Strike(FakeFault()), Strike(FakeFault(), At(1.5), 0.1))
    history = run(planned, stack, run_control(planned, FakeStack()))
    assert len(history.of(Kind.STRUCK)) == 2


def test_an_inject_that_hangs_is_a_tool_error_and_proves_nothing() -> None:
    history = judged(FakeStack(), Strike(FakeFault(enter_hangs=True), for_s=0.05))
    assert whys(history) == [
        "inject did not return within heal_s=0.3 s",
        "heal did not return within heal_s=0.3 s",
    ]
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_a_heal_that_hangs_is_a_tool_error_and_proves_nothing() -> None:
    history = judged(FakeStack(), Strike(FakeFault(exit_hangs=True), for_s=0.05))
    assert whys(history) == ["heal did not return within heal_s=0.3 s"]
    assert not history.of(Kind.HEALED)
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_an_inject_that_raises_heals_the_others_and_proves_nothing() -> None:
    notes: list[str] = []
    works = FakeFault("works", notes)
    breaks = FakeFault("breaks", notes, enter_fails=OSError("no permission"))
    history = judged(FakeStack(), Strike(works, for_s=0.1), Strike(breaks))
    assert notes == ["works begins", "works ends"]
    assert whys(history) == ["OSError('no permission')"]
    assert outcomes(history) == [Outcome.UNKNOWN, Outcome.UNKNOWN]


def test_an_undo_that_raises_was_no_healing() -> None:
    history = judged(FakeStack(), Strike(FakeFault(exit_fails=OSError("gone")), for_s=0.05))
    assert not history.of(Kind.HEALED)
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_staggered_strikes_each_end_in_their_own_order() -> None:
    notes: list[str] = []
    first, second = FakeFault("first", notes), FakeFault("second", notes)
    strikes = (Strike(first, At(0), 0.6), Strike(second, At(0.3), 0.6))
    judged(FakeStack(FakeClients(takes_s=1.2)), *strikes)
    # Staggered, not nested: nested strikes would end in this order even if nobody ended them.
    assert notes == ["first begins", "second begins", "first ends", "second ends"]


def test_nested_strikes_end_the_inner_one_first() -> None:
    notes: list[str] = []
    outer, inner = FakeFault("outer", notes), FakeFault("inner", notes)
    strikes = (Strike(outer, At(0), 0.9), Strike(inner, At(0.3), 0.3))
    judged(FakeStack(FakeClients(takes_s=1.2)), *strikes)
    assert notes == ["outer begins", "inner begins", "inner ends", "outer ends"]


def test_a_trap_is_laid_before_the_load_is_sent_however_long_that_takes() -> None:
    notes: list[str] = []
    clients = FakeClients(taken=lambda request: notes.append(f"{request.request_id} is sent"))
    trap = FakeTrap(FakeFault("trap", notes), laying_takes_s=0.2)
    assert outcomes(judged(FakeStack(clients), Strike(trap, for_s=0.1))) == [Outcome.TOLERATED]
    assert notes[:2] == ["laid", "trap begins"]
    assert {"r0 is sent", "r1 is sent"} < set(notes)
    assert notes.index("trap ends") < notes.index("gone")


def test_a_trap_that_waits_for_its_trigger_is_laid_when_that_comes() -> None:
    notes: list[str] = []
    clients = FakeClients(
        hangs=frozenset({"r0"}),  # nothing is over before the strike has come
        taken=lambda request: notes.append(f"{request.request_id} is sent"),
    )
    trap = FakeTrap(FakeFault("trap", notes))
    planned = experiment(Strike(trap, Entering("r0", Stage.TRANSFER), for_s=0.1))
    run(planned, FakeStack(clients), run_control(planned, FakeStack()))
    assert notes.index("r0 is sent") < notes.index("laid")


def test_a_trap_that_cannot_be_laid_is_a_tool_error_and_the_load_is_sent() -> None:
    clients = FakeClients()
    history = judged(FakeStack(clients), Strike(FakeTrap(laying_hangs=True), for_s=0.05))
    assert whys(history)[0] == "inject did not return within heal_s=0.3 s"
    assert history.of(Kind.SENT)
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_a_strike_ends_early_when_every_request_has_settled() -> None:
    begun_s = time.monotonic()
    history = judged(FakeStack(), Strike(FakeFault(), for_s=30.0))
    assert time.monotonic() - begun_s < 10
    assert outcomes(history) == [Outcome.TOLERATED]


def test_a_trigger_that_never_comes_is_a_no_op_that_says_which() -> None:
    notes: list[str] = []
    on = Entering("r0", Stage.DECODE)
    history = judged(FakeStack(FakeClients(takes_s=0.4)), Strike(FakeFault("f", notes), on))
    (verdict,) = judge(history)
    assert verdict.outcome is Outcome.NO_OP
    assert "when attempt 1 of r0 enters decode" in verdict.reason
    assert notes == []


def test_a_strike_begins_when_its_request_enters_the_stage() -> None:
    clients = FakeClients(takes_s=0.2)
    history = judged(FakeStack(clients), Strike(FakeFault(), Entering("r1", Stage.TRANSFER), 0.05))
    (struck,) = history.of(Kind.STRUCK)
    entered = history.lives["r1"].stages[0]
    assert struck.at_ns > entered.at_ns
    assert outcomes(history) == [Outcome.TOLERATED]


def test_a_second_attempt_that_never_comes_does_not_strike() -> None:
    clients = FakeClients(takes_s=0.4)
    on = Entering("r1", Stage.TRANSFER, attempt=2)
    assert outcomes(judged(FakeStack(clients), Strike(FakeFault(), on))) == [Outcome.NO_OP]


def test_a_fault_that_does_not_bite_is_a_no_op() -> None:
    history = judged(FakeStack(), Strike(FakeFault(bites=False), for_s=0.05))
    assert outcomes(history) == [Outcome.NO_OP]


def test_a_strike_hurts_from_the_beginning_of_its_entry() -> None:
    history = judged(FakeStack(FakeClients(takes_s=0.3)), Strike(FakeFault(enter_takes_s=0.1)))
    (blow,) = blows(history)
    disturbed_ns = history.phase_ns("disturb")
    assert blow.struck is not None
    assert blow.began_ns is not None
    assert disturbed_ns is not None
    assert disturbed_ns < blow.began_ns <= blow.struck.at_ns - ns(0.1)


def test_a_proof_that_hangs_is_a_tool_error_and_does_not_hang_the_run() -> None:
    fault = FakeFault(proof=FakeProof(hangs=True))
    history = judged(FakeStack(), Strike(fault, for_s=0.05))
    assert "inject did not return within heal_s=0.3 s" in whys(history)
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_a_proof_that_fails_is_a_tool_error_and_the_fault_is_still_undone() -> None:
    notes: list[str] = []
    fault = FakeFault("f", notes, proof=FakeProof(fails=KeyError("bug")))
    history = judged(FakeStack(), Strike(fault, for_s=0.05))
    assert notes == ["f begins", "f ends"]
    assert len(history.of(Kind.HEALED)) == 1
    assert outcomes(history) == [Outcome.UNKNOWN]


def test_a_fault_that_only_slows_says_so_in_the_specification() -> None:
    slow = Strike(FakeFault(alive=True), for_s=0.05)
    told = judged(FakeStack(), slow, Strike(FakeFault(), for_s=0.05))
    assert [one.alive for one in told.specification.strikes] == [True, False]
