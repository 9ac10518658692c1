"""Owns where a request went: the workers of each of its attempts, as their own marks tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from chaos.event import Event
from chaos.life import Life


@dataclass(frozen=True, slots=True)
class Route:
    """What is known is what workers wrote down: who stands still writes nothing.

    So that a worker did not write of a request proves nothing, unless another one of its role
    served every attempt: each attempt has one prefill and one decode.
    """

    used: frozenset[str]  # workers that wrote of the request
    attempts: tuple[frozenset[str], ...]  # the same, for each bootstrap room

    def may_use(self, node: str) -> bool:
        """False only when it is sure that the request never had to do with this node."""
        if not self.used or node in self.used or not is_worker(node):
            return True  # every request has to do with the router
        role = role_of(node)
        return any(all(role_of(one) != role for one in workers) for workers in self.attempts)


def route(life: Life) -> Route:
    told = (*life.stages, *life.guards)
    used = frozenset(one.actor for one in told if is_worker(one.actor))
    rooms = {one.attempt: set[str]() for one in told if one.attempt is not None}
    for one in told:
        if one.attempt is not None and is_worker(one.actor):
            rooms[one.attempt].add(one.actor)
    attempts = [frozenset(workers) for workers in rooms.values()]
    return Route(used, tuple(attempts) or (used,))


def workers_of(events: Iterable[Event]) -> frozenset[str]:
    """Every worker that wrote one of these."""
    return frozenset(actor for actor in {one.actor for one in events} if is_worker(actor))


@lru_cache(maxsize=1024)
def is_worker(node: str) -> bool:
    """ "decode-0" is one, "router" and "client" are none."""
    role, dash, number = node.rpartition("-")
    return bool(role and dash) and number.isdigit()


@lru_cache(maxsize=1024)
def role_of(node: str) -> str:
    """ "decode-0" is a decode; what has no number is its own role."""
    return node.rpartition("-")[0] if is_worker(node) else node
