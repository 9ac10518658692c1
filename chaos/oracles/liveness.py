"""Did every request end, well or badly, within its bound?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.fate import Fate, State, fates
from chaos.history import History
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.verdict import Finding


@dataclass(frozen=True, slots=True)
class EveryRequestSettles:
    """Each affected request ends, named by a guard or an error, within its budget.

    Liveness cannot be refuted by a finite history: "it will never answer" is not observable.
    So the promise is a bounded one, `settle_s` after the request was affected, and there are three
    answers. A request that waited longer breaks it. A request that we stopped watching earlier
    neither keeps nor breaks it: sent one second before the end, it says nothing about a bound of
    six. Only a request that ended says something good.
    """

    name: str = "liveness"

    def judge(self, history: History) -> Finding:
        return found(self.name, fates(history))


def found(oracle: str, all_fates: Sequence[Fate]) -> Finding:
    if not all_fates:
        return unknown(oracle, "no request was sent")
    if bad := symptoms(all_fates):
        return violated(oracle, bad)
    if open_ := undecided(all_fates):
        about = tuple(one.life.request_id for one in open_)
        why = f"we stopped watching {len(open_)} of {len(all_fates)} before their bound was over"
        return unknown(oracle, why, about)
    return holds(oracle, f"all {len(all_fates)} requests settled in time")


def symptoms(all_fates: Sequence[Fate]) -> tuple[Symptom, ...]:
    return tuple(_symptom(one) for one in all_fates if one.state in (State.HUNG, State.OVERRAN))


def undecided(all_fates: Sequence[Fate]) -> tuple[Fate, ...]:
    return tuple(one for one in all_fates if one.state is State.UNDECIDED)


def _symptom(fate: Fate) -> Symptom:
    life = fate.life
    stage = f" in {fate.stage}" if fate.stage else ""
    verb = "had not ended" if fate.state is State.HUNG else "ended unnamed or too late,"
    since_ns = life.sent.at_ns
    at_ns = life.settled.at_ns if life.settled else since_ns
    return Symptom(
        life.request_id, f"{verb} after {fate.after_s:.2f} s{stage}", since_ns, at_ns, fate.evidence
    )
