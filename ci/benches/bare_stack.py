"""The embedded stack without what watches it: no links but the KV link, no traces, no log reader.

The A of a comparison whose B is the stack as everybody uses it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast
from unittest.mock import patch

from stack.drivers import embedded
from stack.embedded_stack import EmbeddedStack
from stack.ground import Ground
from stack.layout import Layout, lay_out
from stack.links import Switchboard
from stack.plan import Plan
from stack.ports import Ports

KV: Final = "/kv"


@dataclass(frozen=True, slots=True)
class _NoLink:
    listen_port: int


@dataclass(frozen=True, slots=True)
class _DirectBoard:
    """A switchboard that sends everybody straight to the upstream port, but for KV pages."""

    board: Switchboard

    @property
    def pid(self) -> int | None:
        return self.board.pid

    @property
    def api_url(self) -> str:
        return self.board.api_url

    def proxy_name(self, name: str) -> str:
        return self.board.proxy_name(name)

    def link(self, name: str, host: str, upstream_port: int, listen_port: int) -> object:
        if name.endswith(KV):
            return self.board.link(name, host, upstream_port, listen_port)
        return _NoLink(upstream_port)


@contextmanager
def bare_stack(plan: Plan) -> Generator[EmbeddedStack]:
    """The driver's own code, with two of its parts replaced while it starts."""
    driver = embedded.EmbeddedDriver(plan).launch()
    with patch.object(embedded, "lay_out", _direct), patch.object(embedded, "follow", _nobody):
        stack = driver.__enter__()
    try:
        yield stack
    finally:
        driver.__exit__(None, None, None)


def _direct(plan: Plan, ground: Ground, board: Switchboard, ports: Ports, _trace: Path) -> Layout:
    direct = cast("Switchboard", _DirectBoard(board))
    layout = lay_out(plan, ground, direct, ports, _trace)
    untraced = {name: replace(one, trace_path=None) for name, one in layout.workers.items()}
    return replace(layout, workers=untraced)


def _nobody(*_: object) -> None:
    """Nobody follows the router's log."""
