"""Owns the case against one strike: all that the oracles found and that is charged to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chaos.blow import Blow, blows, charged
from chaos.clock import ns
from chaos.facts import Facts, outcome
from chaos.fate import Fate, State, fates
from chaos.history import History
from chaos.oracles import affinity, endings, false_alarm, recovery, resources, signals, tokens
from chaos.oracles.completeness import holes, of_the_machine
from chaos.oracles.signals import Firing
from chaos.oracles.symptom import Symptom
from chaos.oracles.vacuity import toothless
from chaos.verdict import Outcome

FAULT_FREE = "fault-free"
OPEN = frozenset({State.CAUGHT, State.OVERRAN, State.HUNG})  # affected: somebody must answer

# What a stack that got no core in time may look like.
BY_LATENESS = frozenset(
    {Outcome.TOLERATED, Outcome.CAUGHT, Outcome.SURFACED, Outcome.FALSE_ALARM, Outcome.NO_OP}
)


@dataclass(frozen=True, slots=True)
class Case:
    strike: str
    holes: tuple[str, ...]
    toothless: str | None
    since_ns: int  # when it struck, or when the first request that it could hurt came
    fates: tuple[Fate, ...]  # of every request that is charged to this strike
    firing: Firing | None  # the first one that counts, in time or not
    firing_after_s: float
    detect_s: float
    wrong: tuple[Symptom, ...]
    unrecovered: tuple[Symptom, ...]
    misrouted: tuple[Symptom, ...]
    leaked: tuple[Symptom, ...]
    false_alarms: tuple[Symptom, ...]
    made_by_machine: frozenset[str | None] = frozenset()  # of the holes, those that only it made

    @property
    def of_machine(self) -> bool:
        """Nothing but a busy machine keeps us from a verdict, and what was seen apart from that it
        may have done as well: it makes a request late, and a guard condemn what got no core. It
        does not make one hang for ever, or a reply wrong."""
        facts = replace(self.facts, complete=True)
        late = facts.affected and not facts.hung
        excused = outcome(facts) in BY_LATENESS or (outcome(facts) is Outcome.SILENT and late)
        return bool(self.holes) and self.made_by_machine.issuperset(self.holes) and excused

    @property
    def affected(self) -> tuple[Fate, ...]:
        """The worst first: what hung, what ended too late, what was caught; the longest first."""
        order = (State.HUNG, State.OVERRAN, State.CAUGHT)
        mine = [one for one in self.fates if one.state in OPEN]
        return tuple(sorted(mine, key=lambda one: (order.index(one.state), -one.after_s)))

    @property
    def touched(self) -> tuple[Fate, ...]:
        """All that did not go as in the control, those that nobody has to answer for included."""
        excused = [one for one in self.fates if one.state is State.EXCUSED]
        return (*self.affected, *self.delayed, *excused)

    @property
    def delayed(self) -> tuple[Fate, ...]:
        return tuple(one for one in self.fates if one.state is State.DELAYED)

    @property
    def facts(self) -> Facts:
        affected = self.affected
        return Facts(
            complete=not self.holes,
            bit=self.toothless is None,
            affected=bool(affected),
            hung=any(one.state is State.HUNG for one in affected),
            named=all(one.by or one.life.guards for one in affected),
            in_budget=all(one.state is State.CAUGHT for one in affected),
            alert=self.firing is not None,
            alert_in_time=self.firing is not None and self.firing_after_s <= self.detect_s,
            wrong=bool(self.wrong),
            recovered=not self.unrecovered,
            misrouted=bool(self.misrouted),
            leaked=bool(self.leaked),
            false_alarm=bool(self.false_alarms),
        )


def cases(history: History) -> tuple[Case, ...]:
    """One case per strike that was planned; one more, fault-free, when there was none, or when
    something happened that no strike can be charged with."""
    evidence = _Evidence(history)
    mine = tuple(evidence.case(one) for one in evidence.blows)
    stray = evidence.case(None)
    uncharged = (stray.affected, stray.wrong, stray.misrouted, stray.false_alarms)
    return (*mine, stray) if not mine or any(uncharged) else mine


class _Evidence:
    """What all oracles found in one history, once."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._budgets = history.specification.budgets
        self.blows = blows(history)
        self._fates = fates(history)
        crying = signals.crying(history)
        self._firings = [one for one in signals.firings(history) if one.alert not in crying]
        self._wrong = (*endings.symptoms(history), *tokens.symptoms(history))
        self._unrecovered = recovery.symptoms(history)
        self._misrouted = affinity.symptoms(history)
        self._leaked = resources.symptoms(history)
        self._false_alarms = false_alarm.symptoms(history)
        self._holes = (*holes(history), *self._unread())
        # A page that was not read in time is the machine's, too: the stack did serve again.
        self._made_by_machine = of_the_machine(history) | {resources.unproven(history)}

    def case(self, blow: Blow | None) -> Case:
        """The case against this strike, or against nobody."""
        mine = tuple(one for one in self._fates if _names(blow, one.strikes))
        since_ns = self._since_ns(blow, mine)
        firing = self._first_firing(blow, since_ns)
        return Case(
            strike=blow.strike if blow else FAULT_FREE,
            holes=(*self._holes, *_undecided(mine), *self._blind(mine, firing)),
            toothless=toothless(self._history, blow) if blow else None,
            since_ns=since_ns,
            fates=mine,
            firing=firing,
            firing_after_s=max(0, firing.at_ns - since_ns) / ns(1) if firing else 0.0,
            detect_s=self._budgets.detect_s,
            wrong=self._charged(blow, self._wrong),
            unrecovered=self._charged(blow, self._unrecovered),
            misrouted=self._charged(blow, self._misrouted),
            leaked=self._charged(blow, self._leaked),
            false_alarms=self._charged(blow, self._false_alarms),
            made_by_machine=self._made_by_machine,
        )

    def _charged(self, blow: Blow | None, symptoms: Sequence[Symptom]) -> tuple[Symptom, ...]:
        return tuple(
            one
            for one in symptoms
            if _names(blow, [to.strike for to in charged(self.blows, one.since_ns, one.at_ns)])
        )

    def _since_ns(self, blow: Blow | None, mine: Sequence[Fate]) -> int:
        """Detection counts from the strike, or from when the first request that overran began to
        wait, if that was later: before it there was nothing to see."""
        late = [one.since_ns for one in mine if one.state in (State.HUNG, State.OVERRAN)]
        struck_ns = blow.struck.at_ns if blow and blow.struck else self._history.start_ns
        return max(struck_ns, min(late, default=struck_ns))

    def _first_firing(self, blow: Blow | None, since_ns: int) -> Firing | None:
        """The first since the strike that still held when the first request began to wait."""
        begin_ns = blow.began_ns if blow and blow.struck else since_ns
        told = (one for one in self._firings if one.at_ns >= begin_ns)
        held = (one for one in told if one.until_ns is None or one.until_ns >= since_ns)
        return next(held, None)

    def _unread(self) -> tuple[str, ...]:
        """What would have to be seen of a stack that did recover, and was not."""
        if self._unrecovered:
            return ()
        looks = (recovery.unproven, resources.unproven, affinity.unproven)
        return tuple(why for look in looks if (why := look(self._history)))

    def _blind(self, mine: Sequence[Fate], firing: Firing | None) -> tuple[str, ...]:
        """Silence may be claimed only by somebody who looked at everything that was declared."""
        overran = any(one.state in (State.HUNG, State.OVERRAN) for one in mine)
        blind = signals.unwatched(self._history) if overran and not firing else ()
        return tuple(f"nothing to evaluate alert {one} on" for one in blind)


def _names(blow: Blow | None, strikes: Sequence[str]) -> bool:
    return blow.strike in strikes if blow else not strikes


def _undecided(mine: Sequence[Fate]) -> tuple[str, ...]:
    return tuple(
        f"we stopped watching {one.life.request_id} before its bound was over"
        for one in mine
        if one.state is State.UNDECIDED
    )
