"""A small stack in front of a small server, whose clients the tests let misbehave."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from chaos.contracts import Stack
from stack.clients import Clients
from tests.fakes.small_stack import SmallStack
from tests.fakes.sse_server import SOON_S, SseServer, endless, silent, stalled
from tests.faults.misbehaving import LEAKS, UNDRAINED


@pytest.fixture(scope="module")
def clients() -> Generator[Clients]:
    with Clients("http://127.0.0.1:9") as one:
        yield one


@pytest.fixture
def server(clients: Clients) -> Generator[SseServer]:
    replies = {"stalled": stalled, "silent": silent, "endless": endless, **LEAKS, **UNDRAINED}
    with SseServer({**replies, "half-close": stalled}) as one:
        clients.aim(one.url)
        yield one
        clients.stop(SOON_S)


@pytest.fixture
def stack(server: SseServer, clients: Clients) -> Stack:
    return SmallStack(server.url, clients)
