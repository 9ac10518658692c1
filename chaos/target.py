"""Owns what a text names of a stack: nodes, whole roles, and links between two of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chaos.route import Route, is_worker, role_of

ROLES = frozenset({"prefill", "decode", "router"})
# "prefill-0->decode-1/kv" is one link; "old-decode-0" and "decode-01" are not decode-0.
NAME = r"[A-Za-z_]\w*(?:-\w+)*"
WORD = re.compile(rf"(?<![\w-]){NAME}(?:->{NAME})?")


@dataclass(frozen=True, slots=True)
class Target:
    """A node or a role; or a link, and then both of its ends: it touches who uses both."""

    ends: tuple[str, ...]

    def names(self, node: str) -> bool:
        return node in self.ends or role_of(node) in self.ends

    def may_hit(self, route: Route) -> bool:
        return all(route.may_use(one) for one in self.ends)

    @property
    def is_worker(self) -> bool:
        return any(is_worker(one) for one in self.ends)


def targets(text: str) -> tuple[Target, ...]:
    """All that a text names; a sentence without a node names none."""
    return tuple(Target(tuple(one.split("->"))) for one in WORD.findall(text) if _is_one(one))


def _is_one(word: str) -> bool:
    return "->" in word or is_worker(word) or word in ROLES
