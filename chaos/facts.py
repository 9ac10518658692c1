"""What the oracles found about one strike, and the verdict that follows: one total function."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Facts:
    """Every one of them is about the requests and the time that one strike is charged with."""

    complete: bool  # the evidence has no hole, and our own tool did not fail
    bit: bool  # the fault took effect, and some request lived to meet it
    affected: bool  # some request differs from the control beyond what is tolerated
    answered: (
        bool  # every affected request was ended by a guard in its budget, or by an honest error
    )
    surfaced: bool  # of each that was not, an alert told in time, declared and quiet in the control
    wrong: bool  # a reply that a client takes for a complete answer is not one
    recovered: bool  # the lone request and the capacity probe were served
    misrouted: bool  # a routing key moved without need, or did not move in need
    leaked: bool  # a resource did not return to its baseline
    false_alarm: bool  # a guard or a health page condemned what made progress


def outcome(facts: Facts) -> Outcome:
    """The worst thing that is true, and nothing is worse than not knowing.

    Precedence: what cannot be trusted (UNKNOWN, NO_OP) says nothing about the stack; then what
    hurts users without anybody's knowledge (SILENT), then what hurts them (WRONG), then what keeps
    hurting (NOT_RECOVERED, MISROUTED, LEAKED), then what hurts without need (FALSE_ALARM), then
    what was seen (SURFACED), ended (CAUGHT), or not even felt (TOLERATED).
    """
    overran = facts.affected and not facts.answered
    ladder = (
        (not facts.complete, Outcome.UNKNOWN),
        (not facts.bit, Outcome.NO_OP),
        (overran and not facts.surfaced, Outcome.SILENT),
        (facts.wrong, Outcome.WRONG),
        (not facts.recovered, Outcome.NOT_RECOVERED),
        (facts.misrouted, Outcome.MISROUTED),
        (facts.leaked, Outcome.LEAKED),
        (facts.false_alarm, Outcome.FALSE_ALARM),
        (overran, Outcome.SURFACED),
        (facts.affected, Outcome.CAUGHT),
    )
    return next((result for true, result in ladder if true), Outcome.TOLERATED)
