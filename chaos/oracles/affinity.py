"""Does a routing key stay with its worker while that is healthy, and leave it when it is dead?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaos.blow import Blow, blows
from chaos.clock import ns
from chaos.event import Event
from chaos.history import History
from chaos.life import Life
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.stage import FaultKind, Stage
from chaos.verdict import Finding, Outcome

STICKY = "sticky_sessions"  # the guard that moves a key
NOTICES = "router_health"  # the guard that tells it that a worker is dead
MOVES_S = 3.0  # in which a key must move, where its guard is off and has no budget


@dataclass(frozen=True, slots=True)
class KeysStay:
    """Each routing key keeps its prefill and its decode worker from turn to turn.

    The key itself is the promise: who sends one expects to stay. That `sticky_sessions` is off is a
    way to break it, and no excuse. Which worker served a turn is
    taken from the workers' own intake marks, never from the router's word. Per key and role the
    turns form a sequence of workers, and:

    - *it stays*: a turn on another worker than the turn before is allowed only when a strike had
      touched the worker that was left, before the new turn came in. While the strike lasts, it
      excuses every departure; when it is over, the first one within `recover_s`. Coming home, back
      to the key's first worker after a departure that was allowed, is allowed whenever it comes:
      consistent hashing does it by its definition;
    - *it moves*: a turn that was sent later than the bound after its worker was killed, and before
      that was undone, must reach another worker of the role, if there is one. Nobody can move it
      before the router's health checks have seen the death, and these have a budget of their own.
    """

    name: str = "affinity"
    outcome: Outcome = Outcome.MISROUTED
    stage: Stage = Stage.DISPATCH

    def judge(self, history: History) -> Finding:
        keyed = _keyed(history)
        if not keyed:
            return unknown(self.name, "no request had a routing key")
        if why := unproven(history):
            return unknown(self.name, why)
        if bad := symptoms(history):
            return violated(self.name, bad)
        return holds(self.name, f"{len({one.routing_key for one in keyed})} keys kept their worker")

    def symptoms(self, history: History) -> tuple[Symptom, ...]:
        return symptoms(history)

    def unproven(self, history: History) -> str | None:
        return unproven(history)


@dataclass(frozen=True, slots=True)
class _Turn:
    life: Life
    worker: str
    intake: Event


Sequences = Mapping[tuple[str, str], list[_Turn]]  # by routing key and role


def symptoms(history: History) -> tuple[Symptom, ...]:
    struck = tuple(one for one in blows(history) if one.struck)
    recover_ns = ns(history.specification.budgets.recover_s)
    sequences = _sequences(history)
    found = [
        one
        for key_and_role, turns in sorted(sequences.items())
        for one in _strays(key_and_role[0], turns, struck, recover_ns)
    ]
    return (*found, *_prisoners(history, struck, sequences))


def unproven(history: History) -> str | None:
    """Why nothing can be said about the keys that were sent, or None."""
    if _keyed(history) and not any(_intakes(history)):
        return "no worker told which of the requests with a routing key it took"
    return None


def _keyed(history: History) -> tuple[Life, ...]:
    return tuple(one for one in history.lives.values() if one.routing_key is not None)


def _role(worker: str) -> str:
    return worker.rpartition("-")[0] or worker


def _sequences(history: History) -> Sequences:
    sequences: defaultdict[tuple[str, str], list[_Turn]] = defaultdict(list)
    for life in _keyed(history):
        for event in life.stages:
            if event.stage is Stage.INTAKE:
                key = (str(life.routing_key), _role(event.actor))
                sequences[key].append(_Turn(life, event.actor, event))
    for turns in sequences.values():
        turns.sort(key=lambda turn: turn.intake.seq)
    return sequences


def _strays(
    key: str, turns: Sequence[_Turn], struck: Sequence[Blow], recover_ns: int
) -> Iterator[Symptom]:
    home, here = turns[0].worker, turns[0]
    excused: set[tuple[str, str]] = set()  # (strike, worker): one touch, one departure
    away = False
    for turn in turns[1:]:
        if turn.worker != here.worker:
            excuse = _excuse(here.worker, turn.intake.at_ns, struck, recover_ns, excused)
            if excuse is not None:
                excused.add(excuse)
                away = True
            elif not (away and turn.worker == home):
                yield _stray(key, here, turn)
            else:
                away = False
        here = turn


def _excuse(
    left: str,
    at_ns: int,
    struck: Sequence[Blow],
    recover_ns: int,
    excused: set[tuple[str, str]],
) -> tuple[str, str] | None:
    for blow in struck:
        if blow.began_ns is None or blow.began_ns > at_ns or not blow.touches(left):
            continue
        first = (blow.strike, left) not in excused
        if at_ns <= blow.end_ns or (first and at_ns <= blow.end_ns + recover_ns):
            return (blow.strike, left)
    return None


def _stray(key: str, before: _Turn, turn: _Turn) -> Symptom:
    reason = f"left {before.worker}, which was healthy, for {turn.worker}: {turn.life.request_id}"
    evidence = (before.intake.seq, turn.intake.seq)
    span_ns = before.intake.at_ns, turn.intake.at_ns
    return Symptom(f"key {key}", reason, *span_ns, evidence, node=before.worker)


def _prisoners(history: History, struck: Sequence[Blow], sequences: Sequences) -> Iterator[Symptom]:
    """Turns that a dead worker kept."""
    guards = history.specification.guards
    bound_ns = ns(max(guards.get(STICKY, MOVES_S), guards.get(NOTICES, 0.0)))
    workers = _workers(history)
    for blow in struck:
        if blow.spec.kind is not FaultKind.KILLED or blow.struck is None or blow.began_ns is None:
            continue
        for dead in sorted(one for one in workers if blow.touches(one)):
            if any(_role(one) == _role(dead) and not blow.touches(one) for one in workers):
                home = _keys_of(sequences, dead, blow.began_ns)
                yield from _kept(history, (blow.struck.at_ns + bound_ns, blow.end_ns), dead, home)


def _kept(
    history: History, late_ns: tuple[int, int], dead: str, home: frozenset[str]
) -> Iterator[Symptom]:
    for life in _keyed(history):
        late = late_ns[0] < life.sent.at_ns < late_ns[1]
        if late and life.routing_key in home and not _served(life, _role(dead)):
            reason = f"was still sent to {dead}, which was dead: {life.request_id} reached nobody"
            key = f"key {life.routing_key}"
            at_ns = life.sent.at_ns
            yield Symptom(key, reason, at_ns, at_ns, (life.sent.seq,), node=dead)


def _keys_of(sequences: Sequences, worker: str, before_ns: int) -> frozenset[str]:
    """The keys whose last turn before this moment was on this worker."""
    keys: set[str] = set()
    for (key, role), turns in sequences.items():
        earlier = [one for one in turns if one.intake.at_ns < before_ns]
        if role == _role(worker) and earlier and earlier[-1].worker == worker:
            keys.add(key)
    return frozenset(keys)


def _served(life: Life, role: str) -> bool:
    return any(one.stage is Stage.INTAKE and _role(one.actor) == role for one in life.stages)


def _workers(history: History) -> frozenset[str]:
    """Every worker that was ever seen to take a request, here or in the control."""
    return frozenset(event.actor for event in _intakes(history))


def _intakes(history: History) -> Iterator[Event]:
    sides = (history, history.control) if history.control else (history,)
    for side in sides:
        for life in side.lives.values():
            yield from (event for event in life.stages if event.stage is Stage.INTAKE)
