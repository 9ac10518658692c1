"""What a router is told about the stack: its own ports and the workers behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from chaos.event import Mark
from stack.plan import Plan

Marks = Callable[[str], Sequence[Mark]]


@dataclass(frozen=True, slots=True)
class Backends:
    """Workers are named by the URL under which the router knows them: their link's."""

    port: int
    metrics_port: int
    prefills: Mapping[str, tuple[str, int]]  # node -> (url, bootstrap port)
    decodes: Mapping[str, str]  # node -> url

    @property
    def count(self) -> int:
        return len(self.prefills) + len(self.decodes)

    @property
    def metrics_url(self) -> str:
        return f"http://127.0.0.1:{self.metrics_port}"

    @property
    def nodes(self) -> dict[str, str]:
        """Which node stands behind each URL."""
        urls = {url: node for node, (url, _) in self.prefills.items()}
        return {**urls, **{url: node for node, url in self.decodes.items()}}


class Router(Protocol):
    """One kind of router."""

    @property
    def name(self) -> str: ...

    @property
    def idle(self) -> Sequence[str]:
        """Of its metrics, those that are zero when it serves nobody."""
        ...

    def command(self, plan: Plan, backends: Backends) -> Sequence[str]:
        """The arguments after the interpreter."""
        ...

    def log_reader(self, backends: Backends) -> Marks:
        """For the log of one running router: the marks that a line of it amounts to."""
        ...
