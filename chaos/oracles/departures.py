"""Is a request let go of when its client has left?"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.clock import ns, seconds
from chaos.departure import departures
from chaos.event import Kind
from chaos.history import History
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.stage import Stage
from chaos.verdict import Finding, Outcome


@dataclass(frozen=True, slots=True)
class WhoLeftIsLetGo:
    """Whoever held a request frees it within `release_s` of its client's leaving.

    That it is freed when the fault is healed is no excuse: as long as a stalled link lasts, each
    client that gives up leaves one slot less for all others, and every gauge of the router is zero.
    """

    name: str = "departures"
    outcome: Outcome = Outcome.LEAKED
    stage: Stage = Stage.CLEANUP

    def judge(self, history: History) -> Finding:
        if not (count := len(history.of(Kind.CANCELLED))):
            return unknown(self.name, "no client left")
        if bad := symptoms(history):
            return violated(self.name, bad)
        return holds(self.name, f"{count} clients left, and nothing of theirs was kept")

    def symptoms(self, history: History) -> tuple[Symptom, ...]:
        return symptoms(history)

    def unproven(self, history: History) -> None:
        """What `resources` could not read is told by it."""


def symptoms(history: History) -> tuple[Symptom, ...]:
    bound_s = history.specification.budgets.release_s
    told: list[Symptom] = []
    for one in departures(history):
        if one.kept_ns <= ns(bound_s):
            continue
        kept_s = seconds(one.kept_ns)
        told.append(
            Symptom(
                one.life.request_id,
                f"was kept on {one.node} {kept_s:.2f} s after its client had left"
                f" (release_s={bound_s:g})",
                one.since_ns,
                one.event.at_ns,
                ((one.life.settled or one.event).seq, one.event.seq),
            )
        )
    return tuple(told)
