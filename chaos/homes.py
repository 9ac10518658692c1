"""Owns the question where each routing key lives: found by asking the router, and by looking."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Lock

from chaos.contracts import Request, Stack
from chaos.event import Kind, Mark
from chaos.stage import Stage
from chaos.verdict import NotProven

EVERY_S = 0.02  # one after the other: a router that deals out keys in turn deals them evenly
KEYS = 16  # enough for any spread over a few workers


class Homes:
    """Each key's worker of every role, from the workers' own intake marks."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: dict[tuple[str, str], str] = {}
        self._heard = Event()

    def hear(self, mark: Mark) -> None:
        if mark.kind is not Kind.STAGE or mark.stage is not Stage.INTAKE:
            return
        with self._lock:
            self._of[mark.about, mark.actor.rpartition("-")[0]] = mark.actor
        self._heard.set()

    def on(self, node: str) -> list[str]:
        with self._lock:
            return sorted(key for (key, _), home in self._of.items() if home == node)

    def await_all(self, keys: Sequence[str], role: str, within_s: float) -> bool:
        """A mark may arrive a little after the reply that it precedes."""
        for _ in range(len(keys) + 1):
            with self._lock:
                if all((key, role) in self._of for key in keys):
                    return True
            self._heard.clear()
            self._heard.wait(within_s / (len(keys) + 1))
        return False


def keys_on(
    stack: Stack, nodes: Sequence[str], each: int = 1, within_s: float = 8.0
) -> dict[str, list[str]]:
    """At least `each` routing keys that a sticky router keeps on each of these nodes of one role.

    One short request a key makes the router choose. Raises NotProven where a node got fewer.
    """
    homes = Homes()
    keys = [f"key-{index:02}" for index in range(KEYS)]
    requests = [
        Request(key, index * EVERY_S, f"where does {key} live?", 1, routing_key=key)
        for index, key in enumerate(keys)
    ]
    with stack.observe(homes.hear):
        stack.clients.start(requests, lambda _: None)
        if not stack.clients.wait(within_s):
            stack.clients.stop(within_s)
        seen = homes.await_all(keys, nodes[0].rpartition("-")[0], within_s)
    found = {node: homes.on(node) for node in nodes}
    if not seen or min(len(some) for some in found.values()) < each:
        raise NotProven(f"expected {each} routing keys on each of {', '.join(nodes)}: {found}")
    return found
