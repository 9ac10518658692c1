"""One open request: hung up on, paused, resumed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator

import pytest
from aiohttp import web

from chaos.contracts import Request
from chaos.event import Kind
from stack.clients import Clients
from stack.load_generator.exchange import Target
from tests.fakes.heard import Heard, soon
from tests.fakes.sse_server import SOON_S, Asked, SseServer, endless, piece, silent, stalled

HELLO = Request("r0", 0.0, "hello", 5)


@pytest.fixture
def server() -> Generator[SseServer]:
    with SseServer({"stalled": stalled, "silent": silent, "endless": endless}) as one:
        yield one


@pytest.fixture
def clients(server: SseServer) -> Generator[Clients]:
    with Clients(server.url) as one:
        yield one


@pytest.mark.parametrize(("field", "value"), [(None, None), ("rid", "r0#7")])
def test_the_body_carries_the_id_and_its_batch_where_an_engine_s_log_wants_it(
    field: str | None, value: str | None
) -> None:
    body = Target("http://nowhere", id_field=field, batch=7).body(HELLO)
    assert body.get("rid") == value


def hung(name: str) -> Request:
    return Request(name, 0.0, "hello", 5)


def test_disconnect_cancels_an_open_request_and_the_server_sees_it(
    clients: Clients, server: SseServer
) -> None:
    heard = Heard()
    clients.start([hung("stalled")], heard)
    heard.wait_for(Kind.TOKENS, "stalled", times=2)
    assert clients.disconnect("stalled", SOON_S)
    assert clients.wait(SOON_S)
    assert heard.of("stalled") == [Kind.SENT, Kind.TOKENS, Kind.CANCELLED]
    assert server.left.get(timeout=SOON_S) == "stalled"


def test_disconnect_cancels_a_request_that_has_no_reply_yet(
    clients: Clients, server: SseServer
) -> None:
    heard = Heard()
    clients.start([hung("silent")], heard)
    server.next_asked()
    assert clients.disconnect("silent", SOON_S)
    assert server.left.get(timeout=SOON_S) == "silent"
    assert clients.wait(SOON_S)
    assert heard.of("silent") == [Kind.SENT, Kind.CANCELLED]


def test_disconnect_is_false_before_after_and_without_a_request(clients: Clients) -> None:
    heard = Heard()
    clients.start([HELLO, Request("later", 60.0, "hello", 5)], heard)
    heard.wait_for(Kind.FINISHED, "r0")
    assert not clients.disconnect("r0", SOON_S)
    assert not clients.disconnect("later", SOON_S)
    assert not clients.disconnect("never heard of", SOON_S)


def test_a_cancelled_round_is_sent_again_while_tries_remain(clients: Clients) -> None:
    heard = Heard()
    clients.start([Request("stalled", 0.0, "hello", 5, tries_max=2)], heard)
    heard.wait_for(Kind.TOKENS, "stalled")
    assert clients.disconnect("stalled", SOON_S)
    assert clients.wait(SOON_S)
    assert heard.ending("stalled+1").kind is Kind.FINISHED


def test_a_paused_reply_backs_up_and_goes_on_when_resumed(clients: Clients) -> None:
    heard = Heard()
    clients.start([hung("endless")], heard)
    heard.wait_for(Kind.TOKENS, "endless", times=3)
    assert clients.pause_reading("endless", SOON_S)
    heard_while_paused = heard.pieces("endless")
    assert not clients.pause_reading("endless", SOON_S)
    assert soon(lambda: bool(clients.unread_bytes("endless", SOON_S)))
    assert heard.pieces("endless") == heard_while_paused
    assert clients.resume_reading("endless", SOON_S)
    assert not clients.resume_reading("endless", SOON_S)
    heard.wait_for(Kind.TOKENS, "endless", times=heard_while_paused + 1)


def test_what_comes_after_a_pause_is_left_in_the_kernel(
    clients: Clients, server: SseServer
) -> None:
    paused = threading.Event()

    async def one_more(asked: Asked) -> web.StreamResponse:
        await asked.begin()
        await asked.say(piece("a"))
        await asyncio.to_thread(paused.wait, SOON_S)
        await asked.say(piece("b"))
        return await stalled(asked)

    server.replies["one more"] = one_more
    heard = Heard()
    clients.start([hung("one more")], heard)
    heard.wait_for(Kind.TOKENS, "one more")
    assert clients.pause_reading("one more", SOON_S)
    paused.set()
    assert soon(lambda: bool(clients.unread_bytes("one more", SOON_S)))
    assert heard.text("one more") == "a"


def test_nothing_is_paused_that_is_not_open(clients: Clients) -> None:
    assert not clients.pause_reading("r0", SOON_S)
    assert not clients.resume_reading("r0", SOON_S)
    assert clients.unread_bytes("r0", SOON_S) is None
