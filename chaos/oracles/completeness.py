"""Is the evidence whole? Where it is not, nothing may be concluded, good or bad."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from chaos.blow import blows
from chaos.clock import ns
from chaos.ending import Ending, ending
from chaos.event import SETTLED, Event, Kind, number
from chaos.fate import Fate, State, fates
from chaos.history import History
from chaos.life import Life, base_id
from chaos.oracles import recovery
from chaos.oracles.signals import firings
from chaos.oracles.symptom import holds, unknown
from chaos.verdict import Finding

TOLD_WITHIN_S = 0.25  # the load generator tells the worst lag of each window of this length
OURS = "load_generator"  # whom a LAG mark is about; others are engines that got no core


@dataclass(frozen=True, slots=True)
class NothingIsMissing:
    """Our own failure can neither clear the stack nor accuse it.

    A tool that erred, a trace with a hole, a load generator whose own loop was late, an engine
    that the machine did not let run, a run that never came to its end, a control that failed: each
    makes every verdict UNKNOWN, the accusing ones too. The control is looked at as closely as the
    run: a slow one would excuse anything, and so would one whose own requests failed. (What else
    may be wrong with it is the control's own verdict: see chaos.judge.)
    """

    name: str = "completeness"

    def judge(self, history: History) -> Finding:
        if why := holes(history):
            return unknown(self.name, "; ".join(why))
        return holds(self.name, f"{len(history)} events, and no hole in them")


def holes(history: History) -> tuple[str, ...]:
    found = [*holes_of_one(history)]
    if history.control is not None:
        found += [f"in the control, {why}" for why in flaws(history.control)]
    elif history.specification.strikes:
        found.append("there is no control to compare with")
    return tuple(found)


def of_the_machine(history: History) -> frozenset[str]:
    """Those of the holes that a busy machine makes, and neither the stack nor our tool: somebody
    got no core in time. The same experiment may be whole when it is played again."""
    return frozenset(_late(history))


def flaws(control: History) -> tuple[str, ...]:
    """Why nothing may be compared with this fault-free run."""
    hung = (f"{one} hung" for one in _hung(control))
    return (*holes_of_one(control), *hung, *failed(control))


def holes_of_one(history: History) -> Iterator[str]:
    """What is missing of this run itself."""
    for event in history.of(Kind.TOOL_ERROR):
        why = event.detail.get("why")
        yield f"the tool itself failed at event {event.seq}: {event.about}: {why}"
    if lost := history.of(Kind.LOST):
        count = sum(number(one, "count") for one in lost)
        yield f"{count:.0f} marks of nodes were lost, first at event {lost[0].seq}"
    yield from _late(history)
    if history.phase_ns("done") is None:
        yield "the run never came to its end"
    if not history.lives:
        yield "no request was sent"
    yield from _torn(history)
    yield from _twice(history)
    yield from _unhealed(history)
    yield from _unsent(history)


def _late(history: History) -> Iterator[str]:
    bound_s = history.specification.budgets.lag_s
    late_by = [(number(one, "lag_s"), one) for one in history.of(Kind.LAG)]
    late_by = [(s, one) for s, one in late_by if s > bound_s]
    waits = _waits(history) if late_by else []
    lags = [(s, e.seq, e.about) for s, e in late_by if _met(history, e, s, waits)]
    if lags:
        worst_s, seq, whose = max(lags)
        late = "our load generator was late by" if whose == OURS else f"{whose} waited for a core"
        yield f"{late} {worst_s:.2f} s at event {seq} (lag_s={bound_s:g})"


def _met(history: History, lag: Event, lag_s: float, waits: Sequence[tuple[int, int]]) -> bool:
    """Whether a request waited, or was to be sent, or an alert was about to fire, while somebody
    was late: else it changed no time that anything is judged by."""
    begin_ns = lag.at_ns - ns(lag_s + TOLD_WITHIN_S)
    end_ns = lag.at_ns + ns(history.specification.budgets.lag_s)
    if any(sent_ns <= end_ns and until_ns >= begin_ns for sent_ns, until_ns in waits):
        return True
    for_ns = {one.name: ns(one.for_s) for one in history.specification.alerts}
    told = firings(history)
    return any(begin_ns <= one.at_ns <= end_ns + for_ns[one.alert] for one in told)


def _waits(history: History) -> list[tuple[int, int]]:
    """From when to when each request waited for something that was not decided yet. A hang is
    decided when its bound is over, and the time in which an alert counts: a lag that comes later
    does not unsay it. What was served after healing was served, however late we were."""
    detect_ns = ns(history.specification.budgets.detect_s)
    waits = [(one.life.sent.at_ns, _decided_ns(one, detect_ns)) for one in fates(history)]
    unserved = {one.about for one in recovery.symptoms(history)}
    probes = [
        (one.sent.at_ns, one.settled.at_ns if one.settled else history.end_ns)
        for one in history.lives.values()
        if one.is_recovery and (one.settled is None or one.request_id in unserved)
    ]
    return [*waits, *probes]


def _decided_ns(fate: Fate, detect_ns: int) -> int:
    decided_ns = max(fate.bound_ns, fate.since_ns + detect_ns)
    if fate.ended_ns is None:
        return decided_ns
    return min(fate.ended_ns, decided_ns) if fate.state is State.OVERRAN else fate.ended_ns


def _torn(history: History) -> Iterator[str]:
    """A reply whose pieces are not what its client finished with: some of them are missing."""
    for life in history.lives.values():
        digest = life.settled.detail.get("sha256") if life.settled else None
        if isinstance(digest, str) and digest != _digest(life):
            yield f"the pieces of {life.request_id}'s reply are not what its client finished with"


def _twice(history: History) -> Iterator[str]:
    """A request is sent once and ends at most once: else two are told under one name."""
    sent = Counter(one.about for one in history.of(Kind.SENT))
    ended = Counter(one.about for kind in SETTLED for one in history.of(kind))
    yield from (f"{one} was sent {count} times" for one, count in sent.items() if count > 1)
    yield from (f"{one} ended {count} times" for one, count in ended.items() if count > 1)
    yield from (f"{one} ended, and was never sent" for one in ended.keys() - sent.keys())


def _digest(life: Life) -> str:
    return sha256(life.text.encode("utf-8", "surrogatepass")).hexdigest()


def _unhealed(history: History) -> Iterator[str]:
    for blow in blows(history):
        if blow.struck is not None and blow.healed is None:
            yield f"{blow.strike} was never seen to be undone"


def _unsent(history: History) -> Iterator[str]:
    """Requests that the control sent and the run did not, though nothing held their chain up."""
    if history.control is None or list(_hung(history)):
        return
    known = {*history.lives, *(one.about for one in history.of(Kind.SKIPPED))}
    gone = [
        one.request_id
        for one in history.control.lives.values()
        if not one.is_recovery
        and one.request_id not in known
        and base_id(one.request_id) == one.request_id
    ]
    if gone:
        yield f"{len(gone)} requests were never sent: {', '.join(gone[:5])}"


def failed(control: History) -> Iterator[str]:
    """A request that fails without a fault could fail in the run, too, and count as unaffected."""
    for life in control.lives.values():
        if life.settled is None or life.is_recovery:
            continue
        ended = ending(life.settled)
        if ended is not Ending.COMPLETE:
            yield f"{life.request_id} was not answered: {ended.value}"


def _hung(history: History) -> Iterator[str]:
    for life in history.lives.values():
        if life.settled is None and not life.is_recovery:
            yield life.request_id
