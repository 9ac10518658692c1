"""Did everything that was taken come back?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chaos.baseline import (
    PER_REQUEST,
    Baseline,
    control_rest,
    idle,
    is_counted,
    is_pooled,
    rest,
    steady,
    unread,
)
from chaos.event import Event, Kind
from chaos.history import History
from chaos.oracles.symptom import NAMED_MAX, Symptom, holds, unknown, violated
from chaos.rounds import BURST, ROUND, ROUNDS, burst, rounds
from chaos.stage import Stage
from chaos.verdict import Finding, Outcome

NAME: Final = "resources"


@dataclass(frozen=True, slots=True)
class ResourcesReturn:
    """After recovery every resource is back at its baseline (see chaos.baseline).

    A leak is not visible while load runs, and a gauge at zero after one is no proof that nothing
    is stuck. What is compared is two idle moments of one stack, with the same load between them.
    """

    name: str = NAME
    outcome: Outcome = Outcome.LEAKED
    stage: Stage = Stage.CLEANUP

    def judge(self, history: History) -> Finding:
        if history.phase_ns("recover") is None:
            return unknown(self.name, "the run never came to its recovery")
        if bad := symptoms(history):
            return violated(self.name, bad)
        if why := unproven(history):
            return unknown(self.name, why, (*unread(history), *missing(history)))
        known = len(_baseline(history).names)
        return holds(self.name, f"all {known} resources are back, or serve again")

    def symptoms(self, history: History) -> tuple[Symptom, ...]:
        return symptoms(history)

    def unproven(self, history: History) -> str | None:
        return unproven(history)


def symptoms(history: History) -> tuple[Symptom, ...]:
    now, baseline, asked = rest(history), _baseline(history), _Asked(history)
    told = ((name, asked.why(name, now[name], baseline)) for name in baseline.names if name in now)
    return tuple(
        Symptom(name, why, history.start_ns, history.end_ns, _evidence(history, name))
        for name, why in told
        if why and not baseline.is_half(name)
    )


class _Asked:
    """What the run asked again, to tell pools from leaks. Older histories did not ask."""

    def __init__(self, history: History) -> None:
        self._rounds = rounds(history)
        self._burst = burst(history)
        self._requests = sum(not _again(one) for one in history.lives)

    def why(self, name: str, value: float, baseline: Baseline) -> str | None:
        """Why it leaked, or None."""
        if name in baseline.idle:
            return f"is at {value:g} on an idle stack, where it is 0" if value != 0 else None
        excess = baseline.excess(name, value)
        if not is_pooled(name):
            return f"is at {value:g}, {excess:g} above what is tolerated" if excess > 0 else None
        if self._grows(name, baseline):
            values = [self._rounds[0].before[name], *(one.after[name] for one in self._rounds)]
            steps = ", ".join(f"{one:g}" for one in values)
            return f"grows with each round of {self._rounds[0].requests} requests: {steps}"
        if excess <= 0 or self.undecided(name, excess) or self._serves(name):
            return None
        asked = f", and did not serve {self._burst.requests} at once" if self._burst else ""
        return f"is at {value:g}, {excess:g} above what is tolerated{asked}"

    def undecided(self, name: str, excess: float) -> bool:
        """The burst that would tell was not served in full."""
        failed = self._burst is not None and not self._burst.served
        return is_counted(name) and excess > 0 and failed

    def _grows(self, name: str, baseline: Baseline) -> bool:
        if len(self._rounds) < ROUNDS or any(name not in one.before for one in self._rounds):
            return False
        before = self._rounds[0].before[name]
        need = baseline.per_request(name, before, self._requests)
        return baseline.above(name, before) > 0 and all(
            one.served and one.grew(name, need) for one in self._rounds
        )

    def _serves(self, name: str) -> bool:
        """It was used by those that came at once: they opened hardly anything new."""
        if self._burst is None:  # memory is asked by repetition alone
            return not is_counted(name) and bool(self._rounds)
        return self._burst.served and not self._burst.grew(name, PER_REQUEST)


def _again(request_id: str) -> bool:
    return request_id.startswith((ROUND, BURST))


def unproven(history: History) -> str | None:
    """Why nothing can be said, where nothing leaked."""
    if not _baseline(history).names:
        return "no resource was read before the load"
    if blind := unread(history):
        return f"resources not readable before the load: {', '.join(blind[:NAMED_MAX])}"
    if open_ := _undecided(history):
        return f"what was asked to tell a pool from a leak failed: {', '.join(open_[:NAMED_MAX])}"
    now, baseline = rest(history), _baseline(history)
    half = [
        one
        for one in baseline.names
        if one in now and baseline.is_half(one) and baseline.excess(one, now[one]) > 0
    ]
    if half:
        return f"resources not readable after the control's load: {', '.join(half[:NAMED_MAX])}"
    if gone := missing(history):
        return f"resources not readable after recovery: {', '.join(gone[:NAMED_MAX])}"
    return None


def _undecided(history: History) -> tuple[str, ...]:
    now, baseline, asked = rest(history), _baseline(history), _Asked(history)
    names = [one for one in baseline.names if one in now]
    return tuple(one for one in names if asked.undecided(one, baseline.excess(one, now[one])))


def missing(history: History) -> tuple[str, ...]:
    """Resources that were read at the start, or in the control, and not at the end."""
    return _baseline(history).missing(rest(history))


def _baseline(history: History) -> Baseline:
    return Baseline(
        steady(history),
        control_rest(history.control),
        history.specification.concurrency,
        idle(history),
    )


def _evidence(history: History, name: str) -> tuple[int, ...]:
    read: list[Event] = [one for one in history.about(name) if one.kind is Kind.READING]
    return tuple(one.seq for one in (*read[:1], *read[-1:]))
