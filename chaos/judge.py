"""Conclude one verdict per strike from a history, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from chaos.case import FAULT_FREE, Case, cases
from chaos.clock import seconds
from chaos.contracts import Oracle
from chaos.facts import outcome
from chaos.fate import Fate
from chaos.garbage import uncollected
from chaos.history import History
from chaos.oracles.affinity import KeysStay
from chaos.oracles.completeness import NothingIsMissing
from chaos.oracles.endings import EndingsAreHonest
from chaos.oracles.false_alarm import NobodyIsCondemned
from chaos.oracles.liveness import EveryRequestSettles
from chaos.oracles.recovery import ItServesAgain
from chaos.oracles.resources import ResourcesReturn
from chaos.oracles.signals import AlertsAreEvaluated
from chaos.oracles.symptom import Symptom, sentence, unknown
from chaos.oracles.tokens import RepliesAreTheControls
from chaos.oracles.vacuity import EveryStrikeBites
from chaos.stage import Stage
from chaos.verdict import Finding, Outcome, Verdict

NAMED_MAX = 5

ORACLES: tuple[Oracle, ...] = (
    NothingIsMissing(),
    EveryStrikeBites(),
    EveryRequestSettles(),
    EndingsAreHonest(),
    RepliesAreTheControls(),
    KeysStay(),
    ResourcesReturn(),
    ItServesAgain(),
    AlertsAreEvaluated(),
    NobodyIsCondemned(),
)


def judge(history: History) -> tuple[Verdict, ...]:
    """One verdict per strike, in the order of the specification.

    Without strikes there is one, "fault-free". With strikes it is added when something happened
    that none of them can be charged with. An oracle that fails is UNKNOWN for all of them.
    """
    try:
        with uncollected():
            return tuple(_verdict(one) for one in cases(history))
    except Exception as error:  # noqa: BLE001 - the oracle is under suspicion, not the stack
        strikes = [one.strike for one in history.specification.strikes] or [FAULT_FREE]
        why = f"an oracle failed: {error!r}"
        return tuple(Verdict(one, Outcome.UNKNOWN, why) for one in strikes)


def findings(history: History, oracles: Sequence[Oracle] = ORACLES) -> tuple[Finding, ...]:
    """What each oracle says of the whole history: for reports. Verdicts are not made of these."""
    return tuple(_finding(one, history) for one in oracles)


def _finding(oracle: Oracle, history: History) -> Finding:
    try:
        return oracle.judge(history)
    except Exception as error:  # noqa: BLE001 - the oracle is under suspicion, not the stack
        return unknown(oracle.name, f"the oracle failed: {error!r}")


def _verdict(case: Case) -> Verdict:
    result = outcome(case.facts)
    return _TOLD[result](case, result)


def _unknown(case: Case, result: Outcome) -> Verdict:
    """The tool's own failure; what would have been concluded is kept in the text."""
    more = f"; and {len(case.holes) - NAMED_MAX} more" if len(case.holes) > NAMED_MAX else ""
    seen = _about_requests(case)
    return Verdict(
        case.strike,
        result,
        "; ".join(case.holes[:NAMED_MAX]) + more + (f". Apart from that: {seen}" if seen else ""),
        about=_ids(case.affected),
        of_machine=case.of_machine,
    )


def _no_op(case: Case, result: Outcome) -> Verdict:
    return Verdict(case.strike, result, str(case.toothless), about=_ids(case.affected))


def _silent(case: Case, result: Outcome) -> Verdict:
    late = f"; {_alert(case)}, too late" if case.firing else "; no alert fired"
    return _of_requests(case, result, _about_requests(case) + late, None, case.affected[0].after_s)


def _surfaced(case: Case, result: Outcome) -> Verdict:
    assert case.firing is not None
    reason = f"{_alert(case)}; {_about_requests(case)}"
    return _of_requests(case, result, reason, case.firing.alert, case.firing_after_s)


def _caught(case: Case, result: Outcome) -> Verdict:
    by = "+".join(sorted({str(one.by) for one in case.affected}))
    return _of_requests(case, result, _about_requests(case), by, case.affected[0].after_s)


def _tolerated(case: Case, result: Outcome) -> Verdict:
    if not case.delayed:
        return Verdict(case.strike, result, f"none of {len(case.fates)} requests was affected")
    worst = max(case.delayed, key=lambda one: one.after_s)
    reason = f"with delay: {len(case.delayed)} of {len(case.fates)} requests ended late"
    return Verdict(
        case.strike, result, reason, None, worst.after_s, worst.evidence, worst.stage,
        _ids(case.delayed),
    )  # fmt: skip


def _of_symptoms(pick: Callable[[Case], tuple[Symptom, ...]]) -> Callable[[Case, Outcome], Verdict]:
    def told(case: Case, result: Outcome) -> Verdict:
        symptoms, touched = pick(case), case.touched
        stood = touched[0].stage if touched else None
        return Verdict(
            case.strike,
            result,
            sentence(symptoms),
            by=symptoms[0].by,
            evidence=tuple(sorted({seq for one in symptoms for seq in one.evidence})),
            after_s=max(0.0, seconds(max(one.at_ns for one in symptoms) - case.since_ns)),
            stage=stood or _WHERE[result].value,
            about=tuple(dict.fromkeys((*_ids(touched), *(one.about for one in symptoms)))),
        )

    return told


def _of_requests(
    case: Case, result: Outcome, reason: str, by: str | None, after_s: float
) -> Verdict:
    affected = case.affected
    together = sorted({one for fate in affected for one in fate.strikes} - {case.strike})
    shared = f" (charged together with {', '.join(together)})" if together else ""
    firing = case.firing.evidence if case.firing and result is Outcome.SURFACED else ()
    return Verdict(
        case.strike,
        result,
        reason + shared,
        by,
        after_s,
        tuple(sorted({seq for one in affected for seq in one.evidence} | set(firing))),
        affected[0].stage,
        _ids(affected),
        tuple(together),
    )


def _alert(case: Case) -> str:
    assert case.firing is not None
    return f"{case.firing.alert} fired on {case.firing.about} {case.firing_after_s:.2f} s after"


def _about_requests(case: Case) -> str:
    told = [_sentence(one) for one in case.affected[:NAMED_MAX]]
    more = len(case.affected) - NAMED_MAX
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")


def _sentence(fate: Fate) -> str:
    stage = f" in {fate.stage}" if fate.stage else ""
    by = f" by {fate.by}" if fate.by else ""
    return f"{fate.life.request_id} {fate.state.value}{by} after {fate.after_s:.2f} s{stage}"


def _ids(some: Sequence[Fate]) -> tuple[str, ...]:
    return tuple(one.life.request_id for one in some)


# Where it went wrong when no request shows it by where it stood.
_WHERE: Mapping[Outcome, Stage] = {
    Outcome.WRONG: Stage.ENDING,
    Outcome.NOT_RECOVERED: Stage.LIFECYCLE,
    Outcome.MISROUTED: Stage.DISPATCH,
    Outcome.LEAKED: Stage.CLEANUP,
    Outcome.FALSE_ALARM: Stage.OBSERVERS,
}

_TOLD: Mapping[Outcome, Callable[[Case, Outcome], Verdict]] = {
    Outcome.UNKNOWN: _unknown,
    Outcome.NO_OP: _no_op,
    Outcome.SILENT: _silent,
    Outcome.WRONG: _of_symptoms(lambda case: case.wrong),
    Outcome.NOT_RECOVERED: _of_symptoms(lambda case: case.unrecovered),
    Outcome.MISROUTED: _of_symptoms(lambda case: case.misrouted),
    Outcome.LEAKED: _of_symptoms(lambda case: case.leaked),
    Outcome.FALSE_ALARM: _of_symptoms(lambda case: case.false_alarms),
    Outcome.SURFACED: _surfaced,
    Outcome.CAUGHT: _caught,
    Outcome.TOLERATED: _tolerated,
}
