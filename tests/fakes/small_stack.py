"""The least that looks like a running stack: one URL, one node, one load generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from chaos.contracts import Clients, Guard, Listener, Node, Probe


@dataclass(frozen=True)
class SmallStack:
    """Has no guard, no probe and nothing to observe."""

    url: str
    clients: Clients
    name: str = "small"
    model: str = "small"
    deterministic: bool = True

    @property
    def nodes(self) -> Sequence[Node]:
        return [Node("router", "router", self.url), Node("decode-0", "decode", self.url)]

    @property
    def guards(self) -> Mapping[str, Guard]:
        return {}

    @property
    def signals(self) -> Sequence[Probe]:
        return ()

    @property
    def resources(self) -> Sequence[Probe]:
        return ()

    def ready(self) -> bool:
        return True

    def observe(self, listener: Listener) -> AbstractContextManager[None]:
        return nullcontext()

    def attachments(self) -> Mapping[str, str]:
        return {}
