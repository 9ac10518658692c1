"""Did a guard or a health page condemn something that was making progress?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from chaos.actor import RESOURCE
from chaos.blow import Blow, blows
from chaos.charge import Charges
from chaos.clock import ns, seconds
from chaos.deaths import Deaths
from chaos.ending import Ending, ending
from chaos.event import Event, Kind, number
from chaos.fate import LOG_SLACK_S
from chaos.guard_duty import AT_THE_DOOR, OF_A_NODE, OF_CLEANUP, OF_SILENCE, OF_WAITING, REPORTERS
from chaos.history import History
from chaos.life import Life
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.stage import WORK, Stage
from chaos.verdict import Finding, Outcome

UNHEALTHY = 500.0  # a health page's reading is its status code


@dataclass(frozen=True, slots=True)
class NobodyIsCondemned:
    """A guard ends only what hangs, and a health page condemns only what does not progress.

    Progress cannot be read off an ending: a guard that ends a healthy request leaves the same
    error as one that ends a dead one. Six things show it, and nothing else is held against a
    guard:

    1. *nothing was wrong*: it named a request before any strike had begun (or in a run without
       one) that our own client had not given up. Guards at the door are excepted, and so are
       those that only report: if a worker fails by itself, the router is right to say so, and so
       is every guard of a request whose worker has died by itself. Who
       cleans up after a request that ended well condemned nothing: its client had all it wanted;
    2. *the strike only slowed*: every strike that the request met declares itself `alive`, so
       everything still moved, slowly, and yet a guard ended the request with an error;
    3. *it was innocent*: it failed, this guard was the one that ended it, and no strike could touch
       it, since other workers than those that were hit served all of its attempts;
    4. *it was moving*: a guard whose knob is a time of silence spoke less than half of that time
       after the request's last token or stage. Half, since marks of two processes cross. A guard
       that ends a whole node is held against the last work of that node, whoever's it was; one
       that waits for a transfer, against the request's tokens, which come only after it;
    5. *a node was well*: a guard condemned a node that no strike had hit, or only slowed, or that
       was undone longer ago than `recover_s`;
    6. *a health page*: two readings in a row say that such a node is unhealthy (status 500 or
       above), and between them it entered a stage in which work is done.
    """

    name: str = "false alarm"
    outcome: Outcome = Outcome.FALSE_ALARM
    stage: Stage = Stage.OBSERVERS

    def judge(self, history: History) -> Finding:
        if not history.lives:
            return unknown(self.name, "no request was sent: nothing made progress")
        if bad := symptoms(history):
            return violated(self.name, bad)
        spoken = len(history.of(Kind.GUARD))
        return holds(self.name, f"guards spoke {spoken} times, and condemned no progress")

    def symptoms(self, history: History) -> tuple[Symptom, ...]:
        return symptoms(history)

    def unproven(self, history: History) -> None:
        """A guard that did not speak condemned nobody."""


def symptoms(history: History) -> tuple[Symptom, ...]:
    if not history.of(Kind.GUARD) and not any(map(_unhealthy, _pages_of(history))):
        return ()
    reading = _Reading(history)
    return (*reading.of_requests(), *reading.of_nodes(), *reading.of_pages())


class _Reading:
    """One history, with the work of its nodes and the strikes on them."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._patience_s = history.specification.patience
        self._recover_ns = ns(history.specification.budgets.recover_s)
        self._charges = Charges(history)
        self._struck = tuple(one for one in blows(history) if one.struck)
        self._work = _work(history)
        self._deaths = Deaths(history)

    def of_requests(self) -> Iterator[Symptom]:
        for life in self._history.lives.values():
            if life.is_recovery:
                continue
            for event in life.guards:
                if why := self._condemned(life, event):
                    reason = f"{why}, and {_guard(event)} named it"
                    span_ns = life.sent.at_ns, event.at_ns
                    yield Symptom(life.request_id, reason, *span_ns, (event.seq,), _guard(event))

    def of_nodes(self) -> Iterator[Symptom]:
        for event in self._history.of(Kind.GUARD):
            node, guard = event.about, _guard(event)
            if node != event.actor and node not in self._nodes:
                continue  # a request, of the load or of somebody else
            if why := self._condemned_node(node, event):
                reason = f"{why}, and {guard} condemned it"
                span_ns = event.at_ns, event.at_ns
                yield Symptom(node, reason, *span_ns, (event.seq,), guard, node)

    @cached_property
    def _nodes(self) -> frozenset[str]:
        """Every node that wrote of a request, or that was read of."""
        read = {one.about.partition("/")[0] for one in self._history.of(Kind.READING)}
        return frozenset(read | {one.actor for one in self._history.of(Kind.STAGE)})

    def of_pages(self) -> Iterator[Symptom]:
        pages: defaultdict[str, list[Event]] = defaultdict(list)
        for event in _pages_of(self._history):
            pages[event.about].append(event)
        for about, readings in pages.items():
            yield from self._page(about, about.partition("/")[0], readings)

    def _condemned(self, life: Life, event: Event) -> str | None:
        """Why this guard's word about a request was wrong, or None."""
        guard = _guard(event)
        if guard in AT_THE_DOOR or _given_up(life, event):
            return None
        charge = self._charges.of_request(life, event.at_ns)
        if not charge.strikes:
            tidied = guard in OF_CLEANUP and not _failed(life)
            excused = tidied or guard in REPORTERS or self._deaths.under(life, event.at_ns)
            return None if excused else "met no strike"
        if charge.innocent:
            ended = _failed(life) and event is min(life.guards, key=_rank)
            return "was touched by no strike" if ended and guard not in REPORTERS else None
        if all(one.spec.alive for one in charge.strikes) and _failed(life):
            return "was only slowed"
        still_s = self._still_s(life, event)
        if still_s is not None and still_s < self._patience_s.get(guard, 0.0) / 2:
            return f"had moved {still_s:.2f} s before"
        return None

    def _still_s(self, life: Life, event: Event) -> float | None:
        """For how long nothing had moved that this guard waits for; None: it waits for nothing."""
        guard = _guard(event)
        if guard in OF_A_NODE:
            return self._idle_s(event.actor, event)
        if guard in OF_SILENCE:
            return seconds(event.at_ns - _last_move_ns(life, event))
        if guard in OF_WAITING:
            return seconds(event.at_ns - _last_token_ns(life, event))
        return None

    def _idle_s(self, node: str, before: Event) -> float:
        """Since the last step of work of this node."""
        work = self._work.get(node, [])
        index = bisect_left(work, before.at_ns)
        last_ns = work[index - 1] if index else self._history.start_ns
        return seconds(before.at_ns - last_ns)

    def _condemned_node(self, node: str, event: Event) -> str | None:
        guard = _guard(event)
        if guard in REPORTERS or guard in AT_THE_DOOR:
            return None
        if self._deaths.before(node, event.at_ns):
            return None
        if guard in OF_SILENCE and self._may_be_hurt(node, event.at_ns):
            still_s = self._idle_s(node, event)
            moved = still_s < self._patience_s.get(guard, 0.0) / 2
            return f"had worked {still_s:.2f} s before" if moved else None
        return None if self._is_hurt(node, event.at_ns) else "was hit by no strike"

    def _may_be_hurt(self, node: str, at_ns: int) -> bool:
        """Hit, or under a strike of which nobody tells what it hit, and that does not only slow."""
        if self._is_hurt(node, at_ns):
            return True
        anywhere = (one for one in self._struck if not one.targets and one.request is None)
        return any(_lasts(one, at_ns, 0) and not one.spec.alive for one in anywhere)

    def _is_hurt(self, node: str, at_ns: int) -> bool:
        """A worker that was really hurt may be called so, and need not be called well at once."""
        return any(
            one.touches(node) and not one.spec.alive and _lasts(one, at_ns, self._recover_ns)
            for one in self._struck
        )

    def _page(self, about: str, node: str, readings: Sequence[Event]) -> Iterator[Symptom]:
        work = self._work.get(node, [])
        for first, second in pairwise(readings):
            if not (_unhealthy(first) and _unhealthy(second)):
                continue
            if self._is_hurt(node, second.at_ns):
                continue
            done = bisect_left(work, second.at_ns) - bisect_right(work, first.at_ns)
            if done > 0:
                reason = f"said unhealthy while {node} did {done} steps of work"
                evidence = (first.seq, second.seq)
                span_ns = first.at_ns, second.at_ns
                yield Symptom(about, reason, *span_ns, evidence, node=node)
                break


def _guard(event: Event) -> str:
    return str(event.detail.get("guard"))


def _rank(event: Event) -> tuple[bool, int]:
    """Who cleans up did not end it, where another guard spoke."""
    return _guard(event) in OF_CLEANUP, event.seq


def _given_up(life: Life, event: Event) -> bool:
    """Our client had gone before the guard spoke; marks of two processes cross."""
    settled = life.settled
    if settled is None or settled.kind is not Kind.CANCELLED:
        return False
    return settled.at_ns <= event.at_ns + ns(LOG_SLACK_S)


def _failed(life: Life) -> bool:
    return life.settled is None or ending(life.settled) is not Ending.COMPLETE


def _last_move_ns(life: Life, before: Event) -> int:
    """The last step of work or piece of reply before this event; sending it was a move, too."""
    work = [e.at_ns for e in life.stages if e.seq < before.seq and e.stage in WORK]
    return max((*work, _last_token_ns(life, before)))


def _last_token_ns(life: Life, before: Event) -> int:
    return max(one for one in life.signs_ns if one <= max(before.at_ns, life.sent.at_ns))


def _lasts(blow: Blow, at_ns: int, longer_ns: int) -> bool:
    """Whether it hurt then, or was undone at most so long before."""
    return blow.began_ns is not None and blow.began_ns <= at_ns <= blow.end_ns + longer_ns


def _pages_of(history: History) -> list[Event]:
    return [
        one
        for one in history.of(Kind.READING)
        if one.about.endswith("/health") and one.actor != RESOURCE
    ]


def _unhealthy(event: Event) -> bool:
    return number(event, "value") >= UNHEALTHY


def _work(history: History) -> Mapping[str, list[int]]:
    """When each node entered a stage of work, in the order of time."""
    work: defaultdict[str, list[int]] = defaultdict(list)
    for event in history.of(Kind.STAGE):
        if event.stage in WORK:
            work[event.actor].append(event.at_ns)
    return work
