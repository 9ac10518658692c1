"""After healing, does the stack serve one request, and then as many at once as before?"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.clock import seconds
from chaos.ending import Ending, ending
from chaos.history import History
from chaos.life import RECOVER, Life
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.rounds import BURST
from chaos.stage import Stage
from chaos.verdict import Finding, Outcome

LONE = f"{RECOVER}lone"
CAPACITY = f"{RECOVER}capacity-"


@dataclass(frozen=True, slots=True)
class ItServesAgain:
    """One lone request is served, and then as many at once as the load had.

    The lone request alone is not enough: a stack that lost half of its slots serves it in no time.
    The capacity probe alone is not enough either: when it fails nobody knows whether anything at
    all works. So both, in this order, into a stack that is otherwise idle. Each must be served in
    the time that it took after the control's load, and at most `delay_s` more: a stack that serves
    one after the other has lost its capacity, though it serves them all.
    """

    name: str = "recovery"
    outcome: Outcome = Outcome.NOT_RECOVERED
    stage: Stage = Stage.LIFECYCLE

    def judge(self, history: History) -> Finding:
        if bad := symptoms(history):
            return violated(self.name, bad)
        if why := unproven(history):
            return unknown(self.name, why)
        return holds(self.name, f"it served {len(_probes(history))} requests after healing")

    def symptoms(self, history: History) -> tuple[Symptom, ...]:
        return symptoms(history)

    def unproven(self, history: History) -> str | None:
        return unproven(history)


def symptoms(history: History) -> tuple[Symptom, ...]:
    return tuple(
        Symptom(one.request_id, why, history.start_ns, history.end_ns, _evidence(one))
        for one in _probes(history)
        if (why := _failure(one, history))
    )


def unproven(history: History) -> str | None:
    """Why nothing can be said, where nothing failed."""
    probes = _probes(history)
    if LONE not in history.lives:
        return "the lone request was never sent"
    if any(one.settled is None for one in probes):
        return "we stopped watching before the bound of recovery was over"
    many = [one for one in probes if one.request_id.startswith(CAPACITY)]
    if len(many) < history.specification.concurrency:
        return f"the capacity probe sent {len(many)} requests, not all it should"
    return None


def _probes(history: History) -> tuple[Life, ...]:
    """A burst asks more of a stack than the load did: it tells of connections, not of service."""
    return tuple(
        one
        for one in history.lives.values()
        if one.is_recovery and not one.request_id.startswith(BURST)
    )


def _failure(life: Life, history: History) -> str | None:
    if life.settled is not None:
        ended = ending(life.settled)
        return _slowness(life, history) if ended is Ending.COMPLETE else f"ended with {_why(life)}"
    waited_s = seconds(history.end_ns - life.sent.at_ns)
    bound_s = history.specification.budgets.recover_s
    return f"had no answer after {waited_s:.2f} s" if waited_s >= bound_s else None


def _slowness(life: Life, history: History) -> str | None:
    """That it took longer than in the control by more than is tolerated."""
    same = history.reference(life)
    if life.settled is None or same is None or same.settled is None:
        return None
    took_s = seconds(life.settled.at_ns - life.sent.at_ns)
    usual_s = seconds(same.settled.at_ns - same.sent.at_ns)
    if took_s - usual_s <= history.specification.budgets.delay_s:
        return None
    return f"took {took_s:.2f} s, and {usual_s:.2f} s in the control"


def _why(life: Life) -> str:
    assert life.settled is not None
    detail = life.settled.detail
    why = detail.get("error") or detail.get("why") or ""
    return f"{life.settled.kind.value} {detail.get('status') or ''} {why}".strip()


def _evidence(life: Life) -> tuple[int, ...]:
    return (life.sent.seq, life.settled.seq) if life.settled else (life.sent.seq,)
