"""Owns what became of each request, by comparison with the fault-free control."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from chaos.charge import Charge, Charges
from chaos.clock import ns, seconds
from chaos.ending import Ending, ending, error_name
from chaos.event import Event
from chaos.guard_duty import OF_CLEANUP
from chaos.history import History
from chaos.life import Life
from chaos.stage import Stage

LOG_SLACK_S = 0.3  # a router's log line reaches us this much after the reply it is about


class State(Enum):
    UNAFFECTED = "unaffected"
    DELAYED = "delayed"  # correct, late, but within the delay that the specification tolerates
    EXCUSED = "excused"  # our own client cancelled it, and no guard had to say anything
    CAUGHT = "caught"
    MUTE = "mute"  # it failed without any sign: the endings oracle says WRONG
    OVERRAN = "overran"  # it ended, but too late, and no guard named it in time
    HUNG = "hung"
    UNDECIDED = "undecided"  # we stopped watching before its bound had elapsed


@dataclass(frozen=True, slots=True)
class Fate:
    life: Life
    state: State
    charge: Charge
    since_ns: int  # its time counts from here: it was affected, or last received a token
    after_s: float  # from then to its end, or to the end of watching
    bound_ns: int  # `settle_s` later: from here on it was overdue
    by: str | None = None
    guard: Event | None = None

    @property
    def strikes(self) -> tuple[str, ...]:
        """Charged with it, together; empty: nobody is."""
        return self.charge.names

    @property
    def ended_ns(self) -> int | None:
        return self.life.settled.at_ns if self.life.settled else None

    @property
    def evidence(self) -> tuple[int, ...]:
        told = (self.life.sent, self._stood, self.guard, self.life.settled)
        return tuple(sorted({event.seq for event in told if event is not None}))

    @property
    def stage(self) -> str | None:
        """Where it stood when it was caught, had ended, or was overdue: the last stage that it
        had entered. What moves later, when the fault is healed, does not tell where it hung: of
        one that ended late by itself it is the stage in which it stood longest."""
        stood = self._stood
        return stood.stage.value if stood and stood.stage else None

    @property
    def _stood(self) -> Event | None:
        ended = self.guard or self.life.settled
        entered = [
            one
            for one in _forward(self.life.stages)
            if one.stage is not Stage.CLEANUP
            and one.at_ns <= self.bound_ns
            and (ended is None or one.seq < ended.seq)
        ]
        if entered and self.state in (State.OVERRAN, State.DELAYED):
            ends = [*(one.at_ns for one in entered[1:]), self.bound_ns]
            if self.life.settled is not None:
                ends[-1] = min(self.bound_ns, self.life.settled.at_ns)
            stays = [ends[index] - one.at_ns for index, one in enumerate(entered)]
            return entered[stays.index(max(stays))]
        return entered[-1] if entered else None


def _forward(stages: Sequence[Event]) -> Iterator[Event]:
    """Marks of two processes cross: prefill's word that it has handed a request over may come when
    that decodes already, and does not take it back."""
    decoding: set[int | None] = set()  # attempts
    for one in stages:
        if one.stage is Stage.DECODE:
            decoding.add(one.attempt)
        if one.stage is not Stage.HANDOVER or one.attempt not in decoding:
            yield one


def fates(history: History) -> tuple[Fate, ...]:
    """What became of every request of the load; the run's own recovery requests are not among
    them.

    *Affected* is decided by comparison: the same request of the same seed, without a fault, ended
    so and took so long. It was not affected when it ended the same way (or completely, where the
    control did not) at most `service_s` later. A fixed time-out alone would accuse a slow machine
    and clear a fast stack. Without a control, a request was not affected when it ended completely
    and its client was never without a token for longer than `settle_s`.

    Each affected request has one clock: it starts when the request was sent, or when the first of
    the strikes that are charged with it began to hurt, if that was later. A strike that comes
    afterwards does not start it again, or a harmless one would excuse a hang. All bounds of the
    request count from there: `settle_s`, its guards' budgets, and the detection of alerts.

    A request that never ended *hung* when `settle_s` was over. Tokens that still come, never
    `settle_s` apart, put the beginning of every such bound off, at the latest to the moment at
    which it ended in the control: a long stream is not a hang, and a trickle is not excused for
    ever.

    An affected request was *caught* when it ended with an honest error, or late but completely,
    and a guard's own event names it; both the event and the ending must be in the guard's budget.
    Of several guards the first in time counts, but those whose task is to clean up count last: a
    router that fails one leg closes the other, and whoever frees its pages a millisecond later did
    not catch it. A guard that came too late is as if it had not spoken. Where none speaks, an
    honest error within `settle_s` names itself. What ended completely, late, and unnamed, is
    *delayed* when the specification's `delay_s` tolerates it and *overran* otherwise.
    """
    reading = _Reading(history)
    return tuple(reading.fate(one) for one in history.lives.values() if not one.is_recovery)


class _Reading:
    """One history, with what every one of its requests is compared with."""

    def __init__(self, history: History) -> None:
        self._specification = history.specification
        self._budgets = history.specification.budgets
        self._reference = history.reference
        self._charges = Charges(history)
        recover_ns = history.phase_ns("recover")
        self._horizon_ns = history.end_ns if recover_ns is None else recover_ns

    def fate(self, life: Life) -> Fate:
        settled = life.settled
        if settled is not None and self._unaffected(life, settled):
            return self._as_in_the_control(life, settled.at_ns)
        end_ns = settled.at_ns if settled else self._horizon_ns
        charge = self._charges.of_request(life, min(end_ns, self._overdue_ns(life)))
        settle_ns, from_ns = ns(self._budgets.settle_s), charge.since_ns
        served = life.silence_ns(from_ns) < settle_ns
        since_ns = max(from_ns, self._excused_ns(life)) if served else from_ns
        after_s = seconds(max(0, end_ns - since_ns))
        times = since_ns, after_s, since_ns + settle_ns
        if settled is None:
            state = State.HUNG if end_ns >= since_ns + settle_ns else State.UNDECIDED
            return Fate(life, state, charge, *times)
        guard = self._guard(life, settled, charge, (from_ns, since_ns))
        state, by = self._state(life, settled, guard, after_s)
        caught_by = guard if state is State.CAUGHT else None
        fate = Fate(life, state, charge, *times, by, caught_by)
        if caught_by is None or ending(settled) is not Ending.CANCELLED:
            return fate
        # Its client had left: it was over when somebody let it go.
        let_go_ns = max(end_ns, caught_by.at_ns)
        return replace(fate, after_s=seconds(let_go_ns - since_ns))

    def _as_in_the_control(self, life: Life, end_ns: int) -> Fate:
        """Nothing happened to it that could be charged: these are the strikes that it met."""
        sent_ns = life.sent.at_ns
        met = Charge(self._charges.of_time(sent_ns, end_ns), sent_ns)
        took_s = seconds(end_ns - sent_ns)
        bound_ns = sent_ns + ns(self._budgets.settle_s)
        return Fate(life, State.UNAFFECTED, met, sent_ns, took_s, bound_ns)

    def _overdue_ns(self, life: Life) -> int:
        """When a reply that came in the end was later than is tolerated: whatever began after that
        had no part in it."""
        if life.settled is None or ending(life.settled) is not Ending.COMPLETE:
            return self._horizon_ns
        return life.sent.at_ns + self._usual_ns(life) + ns(self._budgets.delay_s)

    def _excused_ns(self, life: Life) -> int:
        """Until when its tokens show that it was served."""
        same = self._reference(life)
        if same is None or same.settled is None:
            return life.heard_ns
        return min(life.heard_ns, life.sent.at_ns + same.settled.at_ns - same.sent.at_ns)

    def _unaffected(self, life: Life, settled: Event) -> bool:
        same = self._reference(life)
        ended = ending(settled)
        if same is None or same.settled is None:
            in_time = life.silence_ns(life.sent.at_ns) <= ns(self._budgets.settle_s)
            return ended is Ending.COMPLETE and in_time
        alike = ended in (Ending.COMPLETE, ending(same.settled))
        return alike and self._late_s(life, settled) <= self._budgets.service_s

    def _late_s(self, life: Life, settled: Event) -> float:
        """How much longer than in the control it took."""
        return seconds(settled.at_ns - life.sent.at_ns - self._usual_ns(life))

    def _usual_ns(self, life: Life) -> int:
        """What it took in the control."""
        same = self._reference(life)
        return same.settled.at_ns - same.sent.at_ns if same and same.settled else 0

    def _guard(
        self, life: Life, settled: Event, charge: Charge, clocks_ns: tuple[int, int]
    ) -> Event | None:
        """The first guard whose event names this request and that kept its budget."""
        # After a client has gone, cleaning up is a guard's whole task; else it comes too late
        # to be what ended the request.
        gone = ending(settled) is Ending.CANCELLED
        named = [
            event
            for event in life.guards
            if event.at_ns >= charge.since_ns
            and (event.at_ns <= settled.at_ns + ns(LOG_SLACK_S) or gone)
            and max(event.at_ns, settled.at_ns)
            <= _counts_from_ns(event, charge, life.heard_ns, clocks_ns) + ns(self._budget_s(event))
        ]
        return min(named, key=_rank, default=None)

    def _budget_s(self, guard: Event) -> float:
        name = str(guard.detail.get("guard"))
        return self._specification.guards.get(name, self._budgets.settle_s)

    def _state(
        self, life: Life, settled: Event, guard: Event | None, after_s: float
    ) -> tuple[State, str | None]:
        ended = ending(settled)
        overran = after_s > self._budgets.settle_s
        if ended is Ending.MUTE:
            return (State.OVERRAN if overran else State.MUTE), None
        if guard is not None:
            return State.CAUGHT, str(guard.detail.get("guard"))
        if overran:
            return State.OVERRAN, None
        if ended is Ending.CANCELLED:
            return State.EXCUSED, None
        if ended is Ending.ERROR:
            return State.CAUGHT, error_name(settled)
        in_time = self._late_s(life, settled) <= self._budgets.delay_s
        return (State.DELAYED if in_time else State.OVERRAN), None


def _counts_from_ns(guard: Event, charge: Charge, heard_ns: int, clocks_ns: tuple[int, int]) -> int:
    """From when on its budget counts: the request was affected, or served for the last time if no
    token came after the guard's word. A strike hurts from somewhere in its entry on, and nobody
    can tell from where: no guard is too late that may have spoken in time."""
    affected_ns, served_ns = clocks_ns
    since_ns = served_ns if guard.at_ns >= heard_ns else affected_ns
    return max(since_ns, min(charge.surely_ns, guard.at_ns))


def _rank(guard: Event) -> tuple[bool, int]:
    return guard.detail.get("guard") in OF_CLEANUP, guard.seq
