"""Each guard fires, does not fire early, and off means off; clocks are given by hand."""

import json
from dataclasses import replace

import pytest

from stack.engine.guards.abort_propagation import AbortPropagation
from stack.engine.guards.admission_bounds import AdmissionBounds
from stack.engine.guards.bootstrap_timeout import BootstrapTimeout
from stack.engine.guards.heartbeat import Pulse
from stack.engine.guards.kv_verification import KvVerification
from stack.engine.guards.page_quarantine import PageQuarantine
from stack.engine.guards.prefill_inflight_watchdog import PrefillInflightWatchdog
from stack.engine.guards.progress_health import ProgressHealth
from stack.engine.guards.step_watchdog import StepWatchdog
from stack.engine.guards.stream_idle_guard import StreamIdleGuard
from stack.engine.guards.waiting_timeout import WaitingTimeout
from stack.engine.order import Order
from stack.engine.progress import LOOK_S, Progress
from stack.engine.room import Room, State
from stack.engine.rooms import Timer

TIMERS = [
    (BootstrapTimeout(on=True, timeout_s=2.0), State.BOOTSTRAPPING),
    (WaitingTimeout(on=True, timeout_s=2.0), State.WAITING_FOR_INPUT),
    (PrefillInflightWatchdog(on=True, timeout_s=2.0), State.TRANSFERRING),
]


def room(state: State, since_s: float = 100.0) -> Room:
    return Room(Order(1, "r", (1, 2), 3), since_s, state)


@pytest.mark.parametrize(("timer", "state"), TIMERS)
def test_a_timer_fires_when_its_time_is_over_and_not_before(timer: Timer, state: State) -> None:
    assert timer.overdue([room(state)], 101.99) == []
    fired = timer.overdue([room(state)], 102.0)
    assert [one.number for one, _ in fired] == [1]
    assert "2 s" in fired[0][1]


@pytest.mark.parametrize(("timer", "state"), TIMERS)
def test_a_timer_sees_no_state_but_its_own(timer: Timer, state: State) -> None:
    others = [room(other) for other in State if other is not state]
    assert timer.overdue(others, 1e9) == []


@pytest.mark.parametrize(("timer", "state"), TIMERS)
def test_a_timer_that_is_off_never_fires(
    timer: BootstrapTimeout | WaitingTimeout | PrefillInflightWatchdog, state: State
) -> None:
    assert replace(timer, on=False).overdue([room(state)], 1e9) == []


def test_a_transfer_that_still_gets_on_is_slow_and_not_stuck() -> None:
    watchdog, slow = PrefillInflightWatchdog(on=True, timeout_s=2.0), room(State.TRANSFERRING)
    slow.moved_s = 109.0  # nine seconds in, a page arrived
    assert watchdog.overdue([slow], 110.9) == []
    assert len(watchdog.overdue([slow], 111.0)) == 1


def test_a_pulse_is_dead_after_that_many_misses_and_not_before() -> None:
    pulse = Pulse(failures_max=2)
    assert [pulse.beat() for _ in range(3)] == [False, False, True]


def test_one_answer_brings_a_pulse_back() -> None:
    pulse = Pulse(failures_max=2)
    for _ in range(3):
        pulse.beat()
    pulse.answer()
    assert [pulse.beat(), pulse.beat()] == [False, False]


def look(progress: Progress, counts: range, moving: frozenset[str], pending: int) -> None:
    """As often as the front looks; a moving counter moves between two looks."""
    for count in counts:
        beats, turns = (count if name in moving else 0 for name in ("beats", "turns"))
        progress.look(count * LOOK_S, beats, turns, pending)


@pytest.mark.parametrize(
    ("moving", "pending", "expected"),
    [
        ({"beats"}, 1, "no step"),  # hung step
        ({"turns"}, 0, "did not answer"),  # frozen process, idle or not
        ({"beats", "turns"}, 1, ""),  # slow but moving
        ({"beats"}, 0, ""),  # idle
    ],
)
def test_the_step_watchdog_tells_hung_from_idle(
    moving: set[str], pending: int, expected: str
) -> None:
    progress, watchdog = Progress(), StepWatchdog(on=True, timeout_s=1.0)
    looks_in_time = round(0.9 / LOOK_S)
    look(progress, range(looks_in_time), frozenset(moving), pending)
    assert watchdog.verdict(progress) is None
    look(progress, range(looks_in_time, 2 * looks_in_time), frozenset(moving), pending)
    assert expected in (watchdog.verdict(progress) or "")
    assert bool(watchdog.verdict(progress)) == bool(expected)
    assert bool(ProgressHealth(on=True, timeout_s=1.0).complaint(progress)) == bool(expected)
    assert StepWatchdog(on=False, timeout_s=1.0).verdict(progress) is None
    assert ProgressHealth(on=False, timeout_s=1.0).complaint(progress) is None


def test_a_front_that_was_frozen_itself_accuses_nobody() -> None:
    progress = Progress()
    progress.look(10.0, 5, 5, 1)
    progress.look(99.0, 5, 5, 1)
    assert StepWatchdog(on=True, timeout_s=1.0).verdict(progress) is None


def test_an_unread_body_is_given_up_when_nothing_drains() -> None:
    unread = StreamIdleGuard(on=True, timeout_s=2.0).watch(10.0, 5000)
    assert not unread.idle(11.9, 5000)
    assert unread.idle(12.0, 5000)


def test_a_slow_reader_is_not_given_up() -> None:
    unread = StreamIdleGuard(on=True, timeout_s=2.0).watch(10.0, 5000)
    assert not unread.idle(11.9, 4999)
    assert not unread.idle(13.8, 4999)


def test_an_unread_body_is_waited_for_when_the_guard_is_off() -> None:
    assert not StreamIdleGuard(on=False, timeout_s=2.0).watch(0.0, 5000).idle(1e9, 5000)


BOUNDS = AdmissionBounds(on=True, open_max=4, pages=8, page_size=16, context_max=64)


def test_a_full_queue_refuses_at_once() -> None:
    order = Order(1, "r", (1, 2), 3)
    assert BOUNDS.refusal([order], 3) is None
    refusal = BOUNDS.refusal([order], 4)
    assert refusal is not None
    assert (refusal.code, refusal.status) == ("admission_bounds", 503)


def test_what_can_never_fit_is_the_clients_mistake() -> None:
    assert BOUNDS.refusal([Order(1, "r", (1,) * 60, 4)], 0) is None
    refusal = BOUNDS.refusal([Order(1, "r", (1,) * 60, 5)], 0)
    assert refusal is not None
    assert refusal.status == 400


def test_without_bounds_everything_is_let_in() -> None:
    giant = Order(1, "r", (1,) * 6000, 5)
    assert replace(BOUNDS, on=False).refusal([giant], 10**6) is None


def test_pages_leave_quarantine_when_the_writer_is_done_and_not_before() -> None:
    quarantine = PageQuarantine(on=True, timeout_s=5.0)
    quarantine.admit(7, 100.0, ended=False)
    assert quarantine.drained() == []
    quarantine.acknowledge(7, wrote=True)
    assert quarantine.drained() == []  # its last bytes may still be on their way
    quarantine.connection(7, ended=True)
    assert quarantine.drained() == [7]
    assert quarantine.drained() == []


def test_a_writer_that_never_wrote_needs_no_connection_to_end() -> None:
    quarantine = PageQuarantine(on=True, timeout_s=5.0)
    quarantine.admit(7, 100.0, ended=False)
    quarantine.acknowledge(7, wrote=False)
    assert quarantine.drained() == [7]


def test_a_silent_writer_holds_pages_no_longer_than_the_bound() -> None:
    quarantine = PageQuarantine(on=True, timeout_s=5.0)
    quarantine.admit(7, 100.0, ended=True)
    assert quarantine.overdue(104.9) == []
    assert quarantine.overdue(105.0) == [7]


@pytest.mark.parametrize(("arrived", "damaged"), [(3, 0), (4, 1)])
def test_incomplete_or_damaged_kv_is_refused(arrived: int, damaged: int) -> None:
    assert KvVerification(on=True).complaint(4, arrived, damaged) is not None
    assert KvVerification(on=True).complaint(4, 4, 0) is None
    assert KvVerification(on=False).complaint(4, arrived, damaged) is None


def test_every_failure_is_an_openai_error_with_the_guards_name() -> None:
    body = AbortPropagation(on=True).failure("the client is gone").body()
    assert body["error"]["code"] == "abort_propagation"
    assert json.loads(json.dumps(body))["error"]["type"] == "server_error"
