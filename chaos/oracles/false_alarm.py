"""Did a guard or a health page condemn something that was making progress?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chaos.actor import RESOURCE
from chaos.blow import Blow, blows, charged
from chaos.clock import seconds
from chaos.ending import Ending, ending
from chaos.event import Event, Kind, number
from chaos.history import History
from chaos.life import Life
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.stage import Stage
from chaos.verdict import Finding

# Guards that end what has been still for as long as their knob says.
OF_SILENCE = frozenset({"bootstrap_timeout", "step_watchdog", "stream_idle_guard"})
# Of those, the ones that end a whole node, and with it who has only just come.
OF_A_NODE = frozenset({"step_watchdog"})
# Guards at the door: they refuse what would hang later, and condemn no progress.
AT_THE_DOOR = frozenset({"admission_bounds", "knob_validation"})
# Guards that only report: the router's own log of what a worker or a link did.
REPORTERS = frozenset({"router_stream_failure", "router_error_reply"})
# Stages that only an engine which computes or moves bytes can enter.
WORK = frozenset({Stage.PREFILL, Stage.TRANSFER, Stage.HANDOVER, Stage.DECODE, Stage.STREAM})
UNHEALTHY = 500.0  # a health page's reading is its status code


@dataclass(frozen=True, slots=True)
class NobodyIsCondemned:
    """A guard ends only what hangs, and a health page condemns only what does not progress.

    Progress cannot be read off an ending: a guard that ends a healthy request leaves the same
    error as one that ends a dead one. Four things show it, and nothing else is held against a
    guard:

    1. *nothing was wrong*: it named a request before any strike had begun (or in a run without
       one) that our own client had not given up. Guards at the door are excepted, and so are
       those that only report: if a worker fails by itself, the router is right to say so;
    2. *the strike only slowed*: every strike that the request met declares itself `alive`, so
       everything still moved, slowly, and yet a guard ended the request with an error;
    3. *it was moving*: a guard whose knob is a time of silence spoke less than half of that time
       after the request's last token or stage. Half, since marks of two processes cross. A guard
       that ends a whole node is held against the last work of that node, whoever's it was;
    4. *a health page*: two readings in a row say that a worker is unhealthy (status 500 or
       above), and between them that worker, touched by no strike or by one that only slows,
       entered a stage in which work is done.
    """

    name: str = "false alarm"

    def judge(self, history: History) -> Finding:
        if not history.lives:
            return unknown(self.name, "no request was sent: nothing made progress")
        if bad := symptoms(history):
            return violated(self.name, bad)
        spoken = sum(len(one.guards) for one in history.lives.values())
        return holds(self.name, f"guards spoke {spoken} times, and condemned no progress")


def symptoms(history: History) -> tuple[Symptom, ...]:
    struck = tuple(one for one in blows(history) if one.struck)
    guards = [
        Symptom(life.request_id, f"{why}, and {_guard(event)} named it", life.sent.at_ns,
                event.at_ns, (event.seq,), _guard(event))
        for life in history.lives.values()
        if not life.is_recovery
        for event in life.guards
        if (why := _condemned(life, event, struck, history))
    ]  # fmt: skip
    return (*guards, *_pages(history, struck))


def _guard(event: Event) -> str:
    return str(event.detail.get("guard"))


def _condemned(life: Life, event: Event, struck: Sequence[Blow], history: History) -> str | None:
    """Why this guard's word was wrong, or None."""
    if _guard(event) in AT_THE_DOOR or _given_up(life):
        return None
    met = charged(struck, life.sent.at_ns, event.at_ns)
    if not met:
        return None if _guard(event) in REPORTERS else "met no strike"
    if all(one.spec.alive for one in met) and _failed(life):
        return "was only slowed"
    whole = _guard(event) in OF_A_NODE
    moved_ns = _last_work_ns(event, history) if whole else _last_move_ns(life, event, history)
    still_s = seconds(event.at_ns - moved_ns)
    patience_s = history.specification.patience.get(_guard(event), 0.0)
    if _guard(event) in OF_SILENCE and still_s < patience_s / 2:
        return f"had moved {still_s:.2f} s before"
    return None


def _given_up(life: Life) -> bool:
    settled = life.settled
    return settled is not None and settled.kind is Kind.CANCELLED


def _failed(life: Life) -> bool:
    return life.settled is None or ending(life.settled) is not Ending.COMPLETE


def _last_move_ns(life: Life, before: Event, history: History) -> int:
    """The last step of work or piece of reply before this event; sending it was a move, too."""
    moves = [
        one.at_ns
        for one in history.about(life.request_id)
        if one.seq < before.seq and (one.kind is Kind.TOKENS or one.stage in WORK)
    ]
    return max((*moves, life.sent.at_ns))


def _last_work_ns(before: Event, history: History) -> int:
    """The last step of work on the node that wrote this event."""
    done = [
        one.at_ns
        for one in history.of(Kind.STAGE)
        if one.actor == before.actor and one.seq < before.seq and one.stage in WORK
    ]
    return max(done, default=history.start_ns)


def _pages(history: History, struck: Sequence[Blow]) -> Iterator[Symptom]:
    for about, readings in _health(history).items():
        node = about.partition("/")[0]
        work = [one for one in _work(history) if one.actor == node]
        for first, second in pairwise(readings):
            if not (_unhealthy(first) and _unhealthy(second)):
                continue
            if _excused(node, second.at_ns, struck):
                continue
            done = [one for one in work if first.at_ns < one.at_ns < second.at_ns]
            if done:
                evidence = (first.seq, done[0].seq, second.seq)
                reason = f"said unhealthy while {node} did {len(done)} steps of work"
                yield Symptom(about, reason, first.at_ns, second.at_ns, evidence)
                break


def _health(history: History) -> dict[str, list[Event]]:
    pages: dict[str, list[Event]] = {}
    for event in history.of(Kind.READING):
        if event.actor != RESOURCE and event.about.endswith("/health"):
            pages.setdefault(event.about, []).append(event)
    return pages


def _unhealthy(event: Event) -> bool:
    return number(event, "value") >= UNHEALTHY


def _excused(node: str, at_ns: int, struck: Sequence[Blow]) -> bool:
    """A worker that was really hurt may be called so, and need not be called well at once."""
    return any(one.touches(node) and not one.spec.alive and one.began_ns <= at_ns for one in struck)


def _work(history: History) -> list[Event]:
    return [one for one in history.of(Kind.STAGE) if one.stage in WORK]
