"""The promise of the verdict table as a small executable model: slow, plain, and independent.

It shares no code with the judge, only the words in which a history is written. Where the table
is silent, this model decides as follows, and the judge is asked when it decides otherwise:

- "Within" a bound includes the bound, and the worst that is charged to a strike is its verdict.
- Blamed for a request are the strikes that hurt where it ran while it ran and had not hung, and, if
  the first of these came when it was late already, those that had hurt there before. Where there is
  none, those that hurt elsewhere meanwhile; where there is none of these, it is fault-free.
- A request's clock begins when it was sent, or when the first of its strikes that could touch it
  began; while it streams, at its last token or its end in the control, whichever is earlier.
- Of an answer that came too late, those are blamed that had begun when it was overdue.
- What is found after the strikes (recovery, resources) is charged to all that began.
- A guard that keeps its own budget caught the request, also where that is longer than `settle_s`.
  Its budget counts from the latest moment at which the strike can have begun to hurt: its entry's
  end, or the guard's own word if that came before.
- A key may leave a worker while a strike on it lasts, and once within `recover_s` of its heal; it
  may come home whenever it likes.
- An honest error that no guard names in its budget is caught by the reply within `settle_s`.
- What was streamed must be a beginning of the right reply, whatever the ending.
- A wrong reply that came too late besides, and nobody told of it, is SILENT.
- A hole in the evidence accuses nobody: each verdict that it is charged to is UNKNOWN, also what is
  proven otherwise; a hole in what we wrote down, or looked at in the end, is charged to all. Only a
  leak that was read stays one when another resource could not be read.
- A strike that began and whose proofs show no effect may have had one all the same: what it is
  charged with is nobody's, and it stays a NO_OP.
- A strike is a NO_OP when it never came, did not bite, or came when every request had ended or
  hung, and broke nothing. One that took longer to enter than every request to end is UNKNOWN.
- A guard may speak after half its time-out: its clock may have begun before the marks that we see.
  Before that it is a false alarm. The first one that was false is named, requests before nodes.
- A guard without a time-out (the router's error reply) only reports what others did.
- An alert that was on before the first of a request's strikes had begun told nobody of it.
- Where it was not seen in a role, a request may have been on any node of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.clock import ns
from chaos.event import Kind
from chaos.history import History
from chaos.verdict import Outcome
from tests.chaos.second_opinion.aftermath import (
    is_served,
    leaks,
    not_recovered,
    was_not_looked_at,
)
from tests.chaos.second_opinion.alerts import firings
from tests.chaos.second_opinion.asked import Asked, asked
from tests.chaos.second_opinion.charge import Charge
from tests.chaos.second_opinion.condemned import false_alarms, is_false
from tests.chaos.second_opinion.reply import pieces_are_missing
from tests.chaos.second_opinion.request_charge import charges_for, decided_ns
from tests.chaos.second_opinion.routing import misrouted
from tests.chaos.second_opinion.scene import Scene
from tests.chaos.second_opinion.window import Window, windows

FAULT_FREE, CONTROL = "fault-free", "control"
WORST_LAST = (
    Outcome.TOLERATED,
    Outcome.NO_OP,
    Outcome.CAUGHT,
    Outcome.SURFACED,
    Outcome.FALSE_ALARM,
    Outcome.LEAKED,
    Outcome.MISROUTED,
    Outcome.NOT_RECOVERED,
    Outcome.WRONG,
    Outcome.SILENT,
    Outcome.UNKNOWN,
)


@dataclass(frozen=True, slots=True)
class Opinion:
    strike: str
    outcome: Outcome
    by: tuple[str, ...] = ()
    together: tuple[str, ...] = ()


def opinions(history: History) -> list[Opinion]:
    """One for each strike, and one for what no strike can have done, where there is such. The
    control's own stands first where it accuses, and then nothing is compared with it."""
    first, no_reference = _of_control(history)
    planned = [spec.strike for spec in history.specification.strikes]
    scene = scene_of(history)
    requests = asked(history.events)
    charges = charges_of(scene)
    stray = [each for each in charges if not each.strikes]
    rows = planned + ([FAULT_FREE] if stray or not planned else [])
    if no_reference or _has_a_hole(history, requests, scene) or was_not_looked_at(scene):
        return first + [Opinion(name, Outcome.UNKNOWN) for name in rows]
    told = [_of_strike(name, charges, requests, scene) for name in planned]
    last = [_worst(name, stray, Outcome.TOLERATED) for name in rows if name == FAULT_FREE]
    return first + told + last


def _of_control(history: History) -> tuple[list[Opinion], bool]:
    """What it is accused of, and whether it is no reference. Nobody need have looked whether it
    recovered: what is compared with it is looked for then."""
    if history.control is None:
        return [], bool(history.specification.strikes)
    scene = scene_of(history.control)
    requests = asked(scene.events)
    if _has_a_hole(history.control, requests, scene):
        return [], True
    left = any(one.end is not None and one.end.kind is Kind.CANCELLED for one in requests)
    own = _worst(CONTROL, charges_of(scene), Outcome.TOLERATED)
    ill = own.outcome not in (Outcome.TOLERATED, Outcome.UNKNOWN)
    return [own] if ill else [], left or own.outcome is not Outcome.TOLERATED


def _of_strike(
    name: str, charges: Sequence[Charge], requests: Sequence[Asked], scene: Scene
) -> Opinion:
    window = next((each for each in scene.strikes if each.name == name), None)
    own = [each for each in charges if name in each.strikes]
    if window is None or not window.bit:
        holes = [each for each in own if each.outcome is Outcome.UNKNOWN]
        return Opinion(name, Outcome.UNKNOWN if holes else Outcome.NO_OP)
    if own:
        return _worst(name, own, Outcome.TOLERATED)
    return Opinion(name, _of_harmless(window, requests, scene))


def _of_harmless(window: Window, requests: Sequence[Asked], scene: Scene) -> Outcome:
    """Did somebody live through it who had neither ended nor hung when it began?"""
    if not any(window.began_ns <= decided_ns(one, scene) for one in requests):
        return Outcome.NO_OP
    alive = [one for one in requests if window.began_ns <= decided_ns(one, scene)]
    ends = [one.end.at_ns if one.end else scene.watched_ns for one in alive]
    met = any(window.entered_ns <= end_ns for end_ns in ends)
    return Outcome.TOLERATED if met else Outcome.UNKNOWN


def scene_of(history: History) -> Scene:
    control = history.control.events if history.control else None
    strikes = windows(history.events, history.specification)
    return Scene(history.events, history.specification, strikes, control)


def charges_of(scene: Scene) -> list[Charge]:
    requests = asked(scene.events)
    return [
        *(each for one in requests for each in _own_charges(one, scene)),
        *false_alarms(requests, scene),
        *misrouted(requests, scene),
        *not_recovered(scene),
        *leaks(scene),
    ]


def _own_charges(one: Asked, scene: Scene) -> list[Charge]:
    """What a false alarm caught is told as a false alarm."""
    false = any(is_false(guard, one, scene) for guard in one.guards)
    return [e for e in charges_for(one, scene) if not (false and e.outcome is Outcome.CAUGHT)]


def _worst(name: str, charges: Sequence[Charge], otherwise: Outcome) -> Opinion:
    if not charges:
        return Opinion(name, otherwise)
    worst = max((each.outcome for each in charges), key=WORST_LAST.index)
    these = [each for each in charges if each.outcome is worst]
    first = sorted(these, key=lambda each: (each.at_ns, each.by if each.at_ns else ()))[:1]
    named = these if worst is Outcome.CAUGHT else first
    by = tuple(sorted({one for each in named for one in each.by}))
    others = {one for each in these for one in each.strikes} - {name}
    return Opinion(name, worst, by, () if worst is Outcome.UNKNOWN else tuple(sorted(others)))


def _we_were_late(requests: Sequence[Asked], scene: Scene) -> bool:
    """Our own loop lagged while a request waited or was to be sent, or an alert was about to fire:
    what we saw then may be our own doing."""
    waits = [(one.sent.at_ns, decided_ns(one, scene)) for one in requests]
    last_ns = scene.events[-1].at_ns
    waits += [
        (one.sent.at_ns, one.end.at_ns if one.end else last_ns)
        for one in asked(scene.events, recovery=True)
        if not is_served(one, scene)
    ]
    for alert in scene.specification.alerts:
        waits += [
            (each.at_ns - ns(alert.for_s), each.at_ns) for each in firings(scene.events, alert)
        ]
    return any(scene.lag_between(*each) for each in waits)


def _has_a_hole(history: History, requests: Sequence[Asked], scene: Scene) -> bool:
    """Our own tool failed or was late, the run was cut short, marks are lost or doubled."""
    events = history.events
    if any(e.kind in (Kind.TOOL_ERROR, Kind.LOST) for e in events) or not requests:
        return True
    if not any(e.kind is Kind.PHASE and e.about == "done" for e in events):
        return True
    everyone = [*requests, *asked(events, recovery=True)]
    twice = any(one.sends > 1 or len(one.ends) > 1 for one in everyone)
    missing = any(pieces_are_missing(one) for one in everyone)
    return twice or missing or _we_were_late(requests, scene)
