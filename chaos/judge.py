"""Conclude one verdict per strike from a history, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from chaos.accusation import Accusation, OracleFailed
from chaos.accusers import OURS
from chaos.case import LATE, Case, cases
from chaos.clock import seconds
from chaos.contracts import Oracle
from chaos.detection import Detection
from chaos.event import Event, Kind
from chaos.facts import outcome
from chaos.fate import Fate
from chaos.garbage import uncollected
from chaos.history import History
from chaos.oracles.accuser import Accuser
from chaos.oracles.completeness import NothingIsMissing
from chaos.oracles.liveness import EveryRequestSettles
from chaos.oracles.signals import AlertsAreEvaluated
from chaos.oracles.symptom import sentence, unknown
from chaos.oracles.vacuity import EveryStrikeBites
from chaos.verdict import CONTROL, FAULT_FREE, Finding, Outcome, Verdict

NAMED_MAX = 5
WORDS_CHARS = 160  # of the last words of a node that died

ORACLES: tuple[Oracle, ...] = (
    NothingIsMissing(),
    EveryStrikeBites(),
    EveryRequestSettles(),
    *OURS,
    AlertsAreEvaluated(),
)


def judge(history: History, accusers: Sequence[Accuser] = OURS) -> tuple[Verdict, ...]:
    """One verdict per strike, in the order of the specification.

    Without strikes there is one, "fault-free". With strikes it is added when something happened
    that none of them can be charged with. The control is an experiment, too: where it was not
    tolerated it is no reference, and the others are UNKNOWN. Its own verdict stands first, unless
    that is UNKNOWN, too: then all that is known is the reason, which is the others' as well. An
    oracle that fails is UNKNOWN for all of them. `accusers`: see `chaos.accusers.everyone`.
    """
    try:
        with uncollected():
            control = flawed(history.control, accusers) if history.control else None
            told = [_verdict(one) for one in cases(history, accusers, control)]
            first = [control] if control and control.outcome is not Outcome.UNKNOWN else []
            whole = [_after_deaths(one, history) for one in told]
            return (*first, *(_unpromised(one, history) for one in whole))
    except Exception as error:  # noqa: BLE001 - the oracle is under suspicion, not the stack
        strikes = [one.strike for one in history.specification.strikes] or [FAULT_FREE]
        told = str(error) if isinstance(error, OracleFailed) else repr(error)
        why = f"an oracle failed: {told}"
        return tuple(Verdict(one, Outcome.UNKNOWN, why) for one in strikes)


def findings(history: History, oracles: Sequence[Oracle] = ORACLES) -> tuple[Finding, ...]:
    """What each oracle says of the whole history: for reports. Verdicts are not made of these."""
    return tuple(_finding(one, history) for one in oracles)


def _finding(oracle: Oracle, history: History) -> Finding:
    try:
        return oracle.judge(history)
    except Exception as error:  # noqa: BLE001 - the oracle is under suspicion, not the stack
        return unknown(oracle.name, f"the oracle failed: {error!r}")


def flawed(control: History, accusers: Sequence[Accuser] = OURS) -> Verdict | None:
    """A control's own verdict, where that is any but TOLERATED."""
    told = (_verdict(one) for one in cases(control, accusers, as_control=True))
    bad = next((one for one in told if one.outcome is not Outcome.TOLERATED), None)
    if bad is None:
        return None
    return _after_deaths(replace(bad, strike=CONTROL, unpromised=True), control)


def _unpromised(verdict: Verdict, history: History) -> Verdict:
    strikes = [one.strike for one in history.specification.strikes]
    return replace(verdict, unpromised=bool(strikes) and verdict.strike not in strikes)


def _after_deaths(verdict: Verdict, history: History) -> Verdict:
    """A node that nobody had told to die is named before all else: the rest may follow from it."""
    deaths = history.of(Kind.DIED)
    if not deaths:
        return verdict
    told = "; ".join(_death(one) for one in deaths[:NAMED_MAX])
    seqs = {*verdict.evidence, *(one.seq for one in deaths)}
    return replace(verdict, reason=f"{told}; {verdict.reason}", evidence=tuple(sorted(seqs)))


def _death(event: Event) -> str:
    detail = event.detail
    part = f" ({detail['part']})" if detail.get("part") else ""
    how = next(
        (f"{n} {detail[n]}" for n in ("signal", "exit_code") if n in detail), "nobody knows how"
    )
    lines = str(detail.get("last_words") or "").strip().splitlines()
    words = f": {lines[-1][:WORDS_CHARS]}" if lines else ""
    return f"{event.about}{part} died by itself, {how.replace('_', ' ')}{words}"


def _verdict(case: Case) -> Verdict:
    result = outcome(case.facts)
    return _TOLD[result](case, result)


def _unknown(case: Case, result: Outcome) -> Verdict:
    """The tool's own failure; what would have been concluded is kept in the text."""
    more = f"; and {len(case.holes) - NAMED_MAX} more" if len(case.holes) > NAMED_MAX else ""
    reason = "; ".join(case.holes[:NAMED_MAX]) + more + _apart(case)
    about, of_machine = _ids(case.affected), case.of_machine
    return Verdict(case.strike, result, reason, about=about, of_machine=of_machine)


def _no_op(case: Case, result: Outcome) -> Verdict:
    reason = str(case.toothless) + _apart(case)
    return Verdict(case.strike, result, reason, about=_ids(case.affected))


def _apart(case: Case) -> str:
    """What was seen and may not be concluded."""
    told = [one.symptom for some in case.accusations.values() for one in some]
    seen = "; ".join(filter(None, (_about_requests(case), sentence(told))))
    return f". Apart from that: {seen}" if seen else ""


def _silent(case: Case, result: Outcome) -> Verdict:
    late, untold = case.detected.first, case.detected.untold
    told = f"{_alert(late)}, too late" if late else "no alert fired"
    others = len([one for one in case.affected if one.state in LATE]) - len(untold)
    of = f" for {', '.join(_ids(untold[:NAMED_MAX]))}" if others else ""
    reason = f"{_about_requests(case)}; {told}{of}"
    return _of_requests(case, result, reason, None, case.affected[0].after_s)


def _surfaced(case: Case, result: Outcome) -> Verdict:
    first = case.detected.first
    assert first is not None
    reason = f"{_alert(first)}; {_about_requests(case)}"
    told = _of_requests(case, result, reason, first.firing.alert, first.after_s)
    return replace(told, evidence=tuple(sorted({*told.evidence, *first.firing.evidence})))


def _caught(case: Case, result: Outcome) -> Verdict:
    affected = case.affected
    by = "+".join(sorted({str(one.by) for one in affected}))
    unnamed = len([one for one in affected if one.guard is None])
    alone = f"; {unnamed} of {len(affected)} named by the reply alone, and by no guard"
    reason = _about_requests(case) + (alone if unnamed else "")
    return replace(_of_requests(case, result, reason, by, affected[0].after_s), unnamed=unnamed)


def _tolerated(case: Case, result: Outcome) -> Verdict:
    if not case.delayed:
        return Verdict(case.strike, result, f"none of {len(case.fates)} requests was affected")
    worst = max(case.delayed, key=lambda one: one.after_s)
    reason = f"with delay: {len(case.delayed)} of {len(case.fates)} requests ended late"
    return Verdict(
        case.strike, result, reason, None, worst.after_s, worst.evidence, worst.stage,
        _ids(case.delayed),
    )  # fmt: skip


def _accused(case: Case, result: Outcome) -> Verdict:
    told: Sequence[Accusation] = case.accusations[result]
    symptoms, touched = [one.symptom for one in told], case.touched
    stood = touched[0].stage if touched else None
    together = sorted({name for one in told for name in one.strikes} - {case.strike})
    return Verdict(
        case.strike,
        result,
        sentence(symptoms) + _shared(together),
        by=symptoms[0].by,
        evidence=tuple(sorted({seq for one in symptoms for seq in one.evidence})),
        after_s=max(0.0, seconds(max(one.at_ns for one in symptoms) - case.since_ns)),
        stage=stood or told[0].where.value,
        about=tuple(dict.fromkeys((*_ids(touched), *(one.about for one in symptoms)))),
        together=tuple(together),
    )


def _of_requests(
    case: Case, result: Outcome, reason: str, by: str | None, after_s: float
) -> Verdict:
    affected = case.affected
    worst = case.worst(result)
    together = sorted({one for fate in worst for one in fate.strikes} - {case.strike})
    return Verdict(
        case.strike,
        result,
        reason + _shared(together),
        by,
        after_s,
        tuple(sorted({seq for one in affected for seq in one.evidence})),
        affected[0].stage,
        _ids(affected),
        tuple(together),
    )


def _shared(together: Sequence[str]) -> str:
    return f" (charged together with {', '.join(together)})" if together else ""


def _alert(told: Detection) -> str:
    return f"{told.firing.alert} fired on {told.firing.about} {told.after_s:.2f} s after"


def _about_requests(case: Case) -> str:
    told = [_sentence(one) for one in case.affected[:NAMED_MAX]]
    more = len(case.affected) - NAMED_MAX
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")


def _sentence(fate: Fate) -> str:
    stage = f" in {fate.stage}" if fate.stage else ""
    by = f" by {fate.by}" if fate.by else ""
    beside = ", which no strike could touch" if fate.charge.innocent else ""
    return (
        f"{fate.life.request_id} {fate.state.value}{by} after {fate.after_s:.2f} s{stage}{beside}"
    )


def _ids(some: Sequence[Fate]) -> tuple[str, ...]:
    return tuple(one.life.request_id for one in some)


_TOLD: Mapping[Outcome, Callable[[Case, Outcome], Verdict]] = {
    Outcome.UNKNOWN: _unknown,
    Outcome.NO_OP: _no_op,
    Outcome.SILENT: _silent,
    Outcome.WRONG: _accused,
    Outcome.NOT_RECOVERED: _accused,
    Outcome.MISROUTED: _accused,
    Outcome.LEAKED: _accused,
    Outcome.FALSE_ALARM: _accused,
    Outcome.SURFACED: _surfaced,
    Outcome.CAUGHT: _caught,
    Outcome.TOLERATED: _tolerated,
}
