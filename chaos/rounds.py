"""Owns the question whether what a stack keeps is a pool: the same load again, and what it adds.

A router keeps idle connections, an interpreter its threads, an allocator its memory. How many is
chance and the concurrency of the past, so that no tolerance tells them from a leak. Two things do:

- *Repetition*: a pool that has grown to the load serves the same load again; what grows with each
  round, in proportion to its requests, is a leak. Growth smaller than one for every second request
  is what a pool may do.
- *Use*: an idle connection serves the next request. So as many at once as stand there idle open no
  new ones; where what stands there is dead, they do.

The run asks (chaos.recovery), and only where there is a question; the oracle of resources judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaos.clock import ns
from chaos.event import Kind, number
from chaos.history import History
from chaos.life import RECOVER, Life

ROUND = f"{RECOVER}round-"  # "recover/round-1/0": the first round's first request
BURST = (
    f"{RECOVER}burst-"  # "recover/burst-31/0": asked at once, to see whether what is kept serves
)
ROUNDS = 3  # so many in a row, each with its growth, are no chance
BURST_MAX = 32  # more at once would be a load of its own, and as many show no more
LEGS = 2  # a router has a connection to each of them: so many may serve one request
SETTLE_S = 1.0  # what one round took is given back within this, or it is kept


@dataclass(frozen=True, slots=True)
class Round:
    """The same requests once more, and each resource before and after them."""

    requests: int
    served: bool
    before: Mapping[str, float]
    after: Mapping[str, float]

    def growth(self, name: str) -> float:
        return self.after.get(name, 0.0) - self.before.get(name, 0.0)

    def grew(self, name: str, per_request: float) -> bool:
        """By as much as a leak of so much for each request would make it, or by more."""
        known = name in self.before and name in self.after
        return known and self.growth(name) >= per_request * self.requests


def burst_size(excess: float) -> int:
    """How many at once can be served by what is kept, if it is a pool."""
    return max(1, min(BURST_MAX, int(excess / LEGS)))


def rounds(history: History) -> tuple[Round, ...]:
    """Each round that the run asked, in order."""
    return tuple(one for name, one in _told(history) if name.startswith(ROUND))


def burst(history: History) -> Round | None:
    return next((one for name, one in _told(history) if name.startswith(BURST)), None)


def _told(history: History) -> list[tuple[str, Round]]:
    groups: dict[str, list[Life]] = {}
    for life in history.lives.values():
        if life.request_id.startswith((ROUND, BURST)):
            groups.setdefault(life.request_id.rpartition("/")[0], []).append(life)
    begins = [*(min(one.sent.seq for one in lives) for lives in groups.values()), len(history)]
    return [
        (name, _round(history, lives, begins[index : index + 2]))
        for index, (name, lives) in enumerate(groups.items())
    ]


def _round(history: History, lives: Sequence[Life], seqs: Sequence[int]) -> Round:
    """`seqs`: where it began, and where what came after it began."""
    begin, until = seqs
    ended = [one.settled for one in lives if one.settled is not None]
    served = all(one.settled and one.settled.kind is Kind.FINISHED for one in lives)
    end = max((one.seq for one in ended), default=begin)
    settled_ns = max((one.at_ns for one in ended), default=0) + ns(SETTLE_S)
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for event in history.resources:
        if event.kind is not Kind.READING or event.seq >= until:
            continue
        if event.seq < begin:
            before[event.about] = number(event, "value")
        elif event.seq > end and (event.at_ns <= settled_ns or event.about not in after):
            after[event.about] = number(event, "value")
    return Round(len(lives), served, before, after)
