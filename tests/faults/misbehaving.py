"""What tests of misbehaving clients share: requests, bodies that raise, questions to the stack."""

from __future__ import annotations

from contextlib import suppress

import httpx

from chaos.contracts import Fault, Request, Stack
from chaos.seed import source
from stack.clients import Clients
from tests.fakes.heard import Heard
from tests.fakes.sse_server import SOON_S, SseServer, endless
from tests.stack.until import until

LEAKS = {f"leak-{index}": endless for index in range(4)}
UNDRAINED = {f"undrained-{index}": endless for index in range(2)}
RNG = source(1, "fault")


class BodyFailed(Exception):
    """What a test's body raises inside a fault."""


def play(clients: Clients, name: str, due_s: float = 0.0) -> Heard:
    heard = Heard()
    clients.start([Request(name, due_s, "hello", 5)], heard)
    return heard


def left(server: SseServer, count: int) -> set[str]:
    """The first clients that the server saw going."""
    return {server.left.get(timeout=SOON_S) for _ in range(count)}


def raise_inside(fault: Fault, stack: Stack) -> None:
    with suppress(BodyFailed), fault.inject(stack, RNG) as proof:
        until("it bites", lambda: proof.read().bit)
        raise BodyFailed


def answers(stack: Stack) -> bool:
    return httpx.get(f"{stack.url}/health", timeout=SOON_S, trust_env=False).is_success
