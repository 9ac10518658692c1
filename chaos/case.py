"""Owns the case against one strike: all that the oracles found and that is charged to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.accusation import Accusation, accusations, unproven
from chaos.blow import Blow, blows
from chaos.clock import ns
from chaos.deaths import NOTICED_S, Deaths
from chaos.detection import Detected, Detections
from chaos.facts import Facts, outcome
from chaos.fate import Fate, State, fates
from chaos.history import History
from chaos.oracles import resources, signals
from chaos.oracles.accuser import Accuser
from chaos.oracles.completeness import failed, holes, holes_of_one, of_the_machine
from chaos.oracles.vacuity import toothless, unsure
from chaos.verdict import FAULT_FREE, Outcome, Verdict

OPEN = frozenset({State.CAUGHT, State.OVERRAN, State.HUNG})  # affected: somebody must answer
LATE = frozenset({State.OVERRAN, State.HUNG})
# What a stack that got no core in time may look like.
BY_LATENESS = frozenset(
    {Outcome.TOLERATED, Outcome.CAUGHT, Outcome.SURFACED, Outcome.FALSE_ALARM, Outcome.NO_OP}
)


@dataclass(frozen=True, slots=True)
class Case:
    strike: str
    holes: tuple[str, ...]
    toothless: str | None
    since_ns: int  # when it began to hurt; the beginning, where nobody did
    fates: tuple[Fate, ...]  # of every request that is charged to this strike
    detected: Detected
    accusations: Mapping[Outcome, tuple[Accusation, ...]]
    made_by_machine: frozenset[str | None] = frozenset()  # of the holes, those that only it made

    @property
    def of_machine(self) -> bool:
        """Nothing but a busy machine keeps us from a verdict, and what was seen apart from that it
        may have done as well: it makes a request late, and a guard condemn what got no core. It
        does not make one hang for ever, or a reply wrong."""
        seen = outcome(replace(self.facts, complete=True))
        hung = any(one.state is State.HUNG for one in self.affected)
        excused = seen in BY_LATENESS or (seen is Outcome.SILENT and not hung)
        return bool(self.holes) and self.made_by_machine.issuperset(self.holes) and excused

    @property
    def affected(self) -> tuple[Fate, ...]:
        """The worst first: what hung, what ended too late, what was caught; the longest first."""
        order = (State.HUNG, State.OVERRAN, State.CAUGHT)
        mine = [one for one in self.fates if one.state in OPEN]
        return tuple(sorted(mine, key=lambda one: (order.index(one.state), -one.after_s)))

    def worst(self, result: Outcome) -> tuple[Fate, ...]:
        """Of these requests, those that this verdict is about: who shares a lesser one of them
        with this strike does not share the verdict."""
        if result is Outcome.SILENT:
            return self.detected.untold
        late = tuple(one for one in self.affected if one.state in LATE)
        return late if result is Outcome.SURFACED else self.affected

    @property
    def touched(self) -> tuple[Fate, ...]:
        """All that did not go as in the control, those that nobody has to answer for included."""
        excused = [one for one in self.fates if one.state is State.EXCUSED]
        return (*self.affected, *self.delayed, *excused)

    @property
    def delayed(self) -> tuple[Fate, ...]:
        return tuple(one for one in self.fates if one.state is State.DELAYED)

    @property
    def happened(self) -> bool:
        """Whether there is anything to say against somebody, or that could not be decided."""
        undecided = any(one.state is State.UNDECIDED for one in self.fates)
        return bool(self.affected) or undecided or any(self.accusations.values())

    @property
    def facts(self) -> Facts:
        affected = self.affected
        return Facts(
            complete=not self.holes,
            bit=self.toothless is None,
            affected=bool(affected),
            answered=all(one.state is State.CAUGHT for one in affected),
            surfaced=not self.detected.untold,
            wrong=bool(self.accusations[Outcome.WRONG]),
            recovered=not self.accusations[Outcome.NOT_RECOVERED],
            misrouted=bool(self.accusations[Outcome.MISROUTED]),
            leaked=bool(self.accusations[Outcome.LEAKED]),
            false_alarm=bool(self.accusations[Outcome.FALSE_ALARM]),
        )


def cases(
    history: History,
    accusers: Sequence[Accuser],
    control: Verdict | None = None,
    *,
    as_control: bool = False,
) -> tuple[Case, ...]:
    """One case per strike that was planned; one more, fault-free, when there was none, or when
    something happened that no strike can be charged with.

    `control`: the verdict of one that was not tolerated. Nothing may be compared with it.
    """
    evidence = _Evidence(history, accusers, control, as_control)
    mine = tuple(evidence.case(one) for one in evidence.blows)
    stray = evidence.case(None)
    return (*mine, stray) if not mine or stray.happened else mine


class _Evidence:
    """What all oracles found in one history, once."""

    def __init__(
        self,
        history: History,
        accusers: Sequence[Accuser],
        control: Verdict | None,
        as_control: bool,  # noqa: FBT001 - a fact
    ) -> None:
        self._history = history
        self.blows = blows(history)
        self._accusations = accusations(history, accusers)
        self._fates = _by_strike(history, self._accusations[Outcome.FALSE_ALARM])
        self._detections = Detections(history)
        unread = dict[str, str]() if as_control else self._unread(accusers)
        self._holes = (*_holes(history, control), *unread.values())
        # A page that was not read in time is the machine's, too: the stack did serve again.
        late = {unread.get(resources.NAME), *of_the_machine(history)}
        if control and control.of_machine:
            late.add(_no_reference(control))
        self._made_by_machine = frozenset(late)

    def case(self, blow: Blow | None) -> Case:
        """The case against this strike, or against nobody."""
        mine = tuple(self._fates.get(blow.strike if blow else FAULT_FREE, ()))
        accused = {
            kind: tuple(one for one in told if _names(blow, one.strikes))
            for kind, told in self._accusations.items()
        }
        hurt = any(accused.values()) or any(one.state in OPEN for one in mine)
        unsure_ = () if hurt else self._unsure(blow)
        detected = self._detections.of([one for one in mine if one.state in LATE])
        began_ns = blow.began_ns if blow else None
        return Case(
            strike=blow.strike if blow else FAULT_FREE,
            holes=(
                *self._holes,
                *unsure_,
                *_undecided(mine),
                *self._blind(detected),
            ),
            toothless=self._toothless(blow, any(accused.values())) if blow else None,
            since_ns=self._history.start_ns if began_ns is None else began_ns,
            fates=mine,
            detected=detected,
            accusations=accused,
            made_by_machine=self._made_by_machine.union(unsure_),
        )

    def _toothless(self, blow: Blow, accused: bool) -> str | None:  # noqa: FBT001 - a fact
        """A strike that took effect may do its harm when every request has ended."""
        return None if blow.bit and accused else toothless(self._history, blow)

    def _unsure(self, blow: Blow | None) -> tuple[str, ...]:
        why = unsure(self._history, blow) if blow and blow.bit else None
        return (why,) if why else ()

    def _unread(self, accusers: Sequence[Accuser]) -> dict[str, str]:
        """What would have to be seen of a stack that did recover, and was not, by the oracle that
        looks for it. Who does not serve holds pages, too: then nothing more is asked. A control
        need not show it: what a run is compared with is looked for when it is compared."""
        if self._accusations[Outcome.NOT_RECOVERED]:
            return {}
        open_ = [one for one in accusers if not self._accusations[one.outcome]]
        whys = {one.name: unproven(self._history, one) for one in open_}
        return {name: why for name, why in whys.items() if why}

    def _blind(self, detected: Detected) -> tuple[str, ...]:
        """Silence may be claimed only by somebody who looked at everything that was declared."""
        blind = signals.unwatched(self._history) if detected.untold else ()
        return tuple(f"nothing to evaluate alert {one} on" for one in blind)


def _by_strike(
    history: History, false_alarms: Sequence[Accusation]
) -> Mapping[str, Sequence[Fate]]:
    """What a guard ended by a false alarm, is the affair of those that are charged with that. What
    a worker took with it that died by itself, beside every strike, is nobody's."""
    condemned: defaultdict[int, set[str]] = defaultdict(set)
    for one in false_alarms:
        for seq in one.symptom.evidence:
            condemned[seq].update(one.strikes or (FAULT_FREE,))
    charged: defaultdict[str, list[Fate]] = defaultdict(list)
    deaths = Deaths(history)
    for told in fates(history):
        alarm = condemned.get(told.guard.seq) if told.guard else None
        fate = told if alarm else _beside_deaths(told, deaths, history.end_ns)
        for strike in fate.strikes or (FAULT_FREE,):
            if alarm is None or strike in alarm:
                charged[strike].append(fate)
    return charged


def _beside_deaths(fate: Fate, deaths: Deaths, end_ns: int) -> Fate:
    known_ns = (end_ns if fate.ended_ns is None else fate.ended_ns) + ns(NOTICED_S)
    if not fate.charge.innocent or not deaths.under(fate.life, known_ns):
        return fate
    return replace(fate, charge=replace(fate.charge, strikes=()))


def _holes(history: History, control: Verdict | None) -> tuple[str, ...]:
    """A control that was judged itself has no hole, or it is no reference."""
    if history.control is None:
        return holes(history)
    own = tuple(holes_of_one(history))
    if control is not None:
        return (*own, _no_reference(control))
    return (*own, *(f"in the control, {why}" for why in failed(history.control)))


def _no_reference(control: Verdict) -> str:
    """Why nothing may be compared with this control."""
    if control.outcome is Outcome.UNKNOWN:
        return f"in the control, {control.reason}"
    return f"the control is no reference: it was {control}"


def _names(blow: Blow | None, strikes: Sequence[str]) -> bool:
    return blow.strike in strikes if blow else not strikes


def _undecided(mine: Sequence[Fate]) -> tuple[str, ...]:
    return tuple(
        f"we stopped watching {one.life.request_id} before its bound was over"
        for one in mine
        if one.state is State.UNDECIDED
    )
