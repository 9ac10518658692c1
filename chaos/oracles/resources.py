"""Did everything that was taken come back?"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.baseline import Baseline, control_rest, rest, steady, unread
from chaos.event import Event, Kind
from chaos.history import History
from chaos.oracles.symptom import NAMED_MAX, Symptom, holds, unknown, violated
from chaos.verdict import Finding


@dataclass(frozen=True, slots=True)
class ResourcesReturn:
    """After recovery every resource is back at its baseline (see chaos.baseline).

    A leak is not visible while load runs, and a gauge at zero after one is no proof that nothing
    is stuck. What is compared is two idle moments of one stack, with the same load between them.
    """

    name: str = "resources"

    def judge(self, history: History) -> Finding:
        if history.phase_ns("recover") is None:
            return unknown(self.name, "the run never came to its recovery")
        if bad := symptoms(history):
            return violated(self.name, bad)
        if why := unproven(history):
            return unknown(self.name, why, (*unread(history), *missing(history)))
        known = len(_baseline(history).names)
        return holds(self.name, f"all {known} resources are back at their baseline")


def symptoms(history: History) -> tuple[Symptom, ...]:
    now, baseline = rest(history), _baseline(history)
    return tuple(
        Symptom(
            name,
            f"is at {now[name]:g}, {baseline.excess(name, now[name]):g} above what is tolerated",
            history.start_ns,
            history.end_ns,
            _evidence(history, name),
        )
        for name in baseline.names
        if name in now and baseline.excess(name, now[name]) > 0 and not baseline.is_half(name)
    )


def unproven(history: History) -> str | None:
    """Why nothing can be said, where nothing leaked."""
    if not _baseline(history).names:
        return "no resource was read before the load"
    if blind := unread(history):
        return f"resources not readable before the load: {', '.join(blind[:NAMED_MAX])}"
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


def missing(history: History) -> tuple[str, ...]:
    """Resources that were read at the start, or in the control, and not at the end."""
    return _baseline(history).missing(rest(history))


def _baseline(history: History) -> Baseline:
    return Baseline(
        steady(history), control_rest(history.control), history.specification.concurrency
    )


def _evidence(history: History, name: str) -> tuple[int, ...]:
    read: list[Event] = [one for one in history.about(name) if one.kind is Kind.READING]
    return tuple(one.seq for one in (*read[:1], *read[-1:]))
