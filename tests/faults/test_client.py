"""Each misbehaving client bites, heals, and heals when the body raises."""

from __future__ import annotations

from contextlib import suppress

import pytest
from aiohttp import web

from chaos.contracts import Fault, Proof, Stack
from chaos.event import Kind
from faults.client import (
    Addressed,
    Disconnect,
    EatenPool,
    HalfClose,
    LeakedBodies,
    Played,
    Reachable,
    SlowReader,
)
from faults.raw_stream import Ask, RawStream
from stack.clients import Clients
from tests.fakes.heard import soon
from tests.fakes.sse_server import SOON_S, Asked, SseServer, silent
from tests.faults.misbehaving import LEAKS, RNG, BodyFailed, left, play, raise_inside


async def refused(_asked: Asked) -> web.StreamResponse:
    return web.json_response({"error": {"message": "full"}}, status=429)


@pytest.mark.parametrize(
    "fault",
    [LeakedBodies(2, 10), Disconnect("r0"), SlowReader("r0"), HalfClose("router"), EatenPool()],
    ids=lambda fault: type(fault).__name__,
)
def test_a_stack_has_the_ability_that_the_fault_needs(fault: Fault, stack: Stack) -> None:
    assert isinstance(stack, fault.needs)
    assert not isinstance(object(), fault.needs)
    assert fault.needs in {Addressed, Played, Reachable}


def test_leaked_bodies_stay_open_with_bytes_that_nobody_reads(stack: Stack) -> None:
    with LeakedBodies(count=4, at_byte=200).inject(stack, RNG) as proof:
        evidence = proof.read()
    assert evidence.bit
    assert evidence.detail["open_bodies"] == 4
    assert evidence.detail["unread_bytes"]


def test_leaked_bodies_are_closed_when_healed(stack: Stack, server: SseServer) -> None:
    with LeakedBodies(count=4, at_byte=200).inject(stack, RNG):
        assert server.left.empty()
    assert left(server, 4) == set(LEAKS)


def test_leaked_bodies_are_closed_when_the_body_raises(stack: Stack, server: SseServer) -> None:
    raise_inside(LeakedBodies(count=4, at_byte=200), stack)
    assert left(server, 4) == set(LEAKS)


def test_bodies_that_the_stack_refused_are_not_leaked(stack: Stack, server: SseServer) -> None:
    server.replies.update(dict.fromkeys(LEAKS, refused))
    with LeakedBodies(count=2, at_byte=10, within_s=0.5).inject(stack, RNG) as proof:
        evidence = proof.read()
    assert not evidence.bit
    assert evidence.detail["statuses"] == "429"


def test_a_body_that_never_came_is_not_leaked(stack: Stack, server: SseServer) -> None:
    server.replies["leak-0"] = silent
    with LeakedBodies(count=1, at_byte=10, within_s=0.1).inject(stack, RNG) as proof:
        assert not proof.read().bit
    assert left(server, 1) == {"leak-0"}


def test_exactly_the_bytes_asked_for_are_read(server: SseServer) -> None:
    ask = Ask(server.url, "/v1/completions", {"prompt": "x", "max_tokens": 4}, "endless")
    stream = RawStream(ask, SOON_S)
    assert stream.read_to(777, SOON_S)
    assert stream.body_bytes == 777
    stream.close()


def test_a_stream_that_ends_early_is_not_read_to_the_byte(server: SseServer) -> None:
    server.replies["leak-0"] = refused
    ask = Ask(server.url, "/v1/completions", {"prompt": "x", "max_tokens": 4}, "leak-0")
    stream = RawStream(ask, SOON_S)
    assert not stream.read_to(100_000, 0.2)
    assert stream.status == 429
    stream.close()


def test_a_disconnect_closes_an_open_request(
    stack: Stack, clients: Clients, server: SseServer
) -> None:
    heard = play(clients, "stalled")
    heard.wait_for(Kind.TOKENS, "stalled")
    with Disconnect("stalled").inject(stack, RNG) as proof:
        assert proof.read().bit
        assert left(server, 1) == {"stalled"}
        assert proof.read().bit
    assert heard.ending("stalled").kind is Kind.CANCELLED


def test_a_disconnect_waits_for_its_victim(stack: Stack, clients: Clients) -> None:
    heard = play(clients, "stalled", due_s=0.2)
    with Disconnect("stalled").inject(stack, RNG) as proof:
        assert proof.read().bit
    assert heard.wait_for(Kind.CANCELLED, "stalled")


def test_a_disconnect_without_a_victim_did_not_bite(stack: Stack) -> None:
    with Disconnect("nobody", within_s=0.05).inject(stack, RNG) as proof:
        assert not proof.read().bit


def test_a_slow_reader_hears_nothing_until_it_is_healed(stack: Stack, clients: Clients) -> None:
    heard = play(clients, "endless")
    with SlowReader("endless").inject(stack, RNG) as proof:
        heard_then = heard.pieces("endless")
        assert soon(lambda: bool(proof.read().detail["unread_bytes"]))
        evidence = proof.read()
        assert heard.pieces("endless") == heard_then
    assert evidence.bit
    heard.wait_for(Kind.TOKENS, "endless", times=heard_then + 1)


def test_a_slow_reader_reads_on_when_the_body_raises(stack: Stack, clients: Clients) -> None:
    heard = play(clients, "endless")
    raise_inside(SlowReader("endless"), stack)
    so_far = heard.pieces("endless")
    heard.wait_for(Kind.TOKENS, "endless", times=so_far + 1)


def test_a_slow_reader_without_a_reply_did_not_bite(stack: Stack, clients: Clients) -> None:
    play(clients, "silent")
    with SlowReader("silent", within_s=0.05).inject(stack, RNG) as proof:
        assert not proof.read().bit


@pytest.mark.parametrize("node", ["router", "decode-0"])
def test_a_half_close_reaches_the_node(stack: Stack, server: SseServer, node: str) -> None:
    with HalfClose(node).inject(stack, RNG) as proof:
        evidence = proof.read()
        assert left(server, 1) == {"half-close"}  # aiohttp takes it for a disconnect
    assert evidence.bit


def test_a_half_close_comes_after_the_reply_began(stack: Stack, server: SseServer) -> None:
    with HalfClose("router", under_way_s=SOON_S).inject(stack, RNG) as proof:
        assert proof.read().detail["status"] == 200
    assert server.next_asked().request_id == "half-close"


def test_a_half_close_does_not_wait_for_a_reply(stack: Stack, server: SseServer) -> None:
    server.replies["half-close"] = silent
    with HalfClose("router", under_way_s=0.05).inject(stack, RNG) as proof:
        evidence = proof.read()
    assert evidence.bit
    assert evidence.detail["status"] is None


@pytest.mark.parametrize("linger_s", [None, 0], ids=["by-fin", "by-reset"])
def test_a_peer_that_closed_first_was_not_half_closed(
    stack: Stack, server: SseServer, linger_s: int | None
) -> None:
    async def hang_up(asked: Asked) -> web.StreamResponse:
        if linger_s is not None:
            asked.linger(linger_s)
        asked.cut()
        return asked.response

    server.replies["half-close"] = hang_up
    with HalfClose("router", under_way_s=SOON_S).inject(stack, RNG) as proof:
        evidence = proof.read()
    assert not evidence.bit
    assert evidence.detail["fin_sent"] is False


def test_a_worker_is_half_closed_with_a_room_to_meet_in(stack: Stack, server: SseServer) -> None:
    with HalfClose("decode-0").inject(stack, RNG):
        pass
    with HalfClose("router").inject(stack, RNG):
        pass
    rooms = ["bootstrap_room" in server.next_asked().body for _ in range(2)]
    assert rooms == [True, False]


def test_a_half_closed_socket_is_closed_when_the_body_raises(stack: Stack) -> None:
    proofs: list[Proof] = []
    with suppress(BodyFailed), HalfClose("router").inject(stack, RNG) as proof:
        proofs.append(proof)
        raise BodyFailed
    with pytest.raises(OSError, match="Bad file descriptor"):
        proofs[0].read()


def test_a_connection_that_was_not_half_closed_is_no_proof(server: SseServer) -> None:
    ask = Ask(server.url, "/v1/completions", {"prompt": "x", "max_tokens": 4}, "silent")
    stream = RawStream(ask, SOON_S)
    assert not stream.half_closed()
    stream.close()


def test_a_node_that_does_not_exist_is_named(stack: Stack) -> None:
    with (
        pytest.raises(ValueError, match=r"'decode-7'.*router, decode-0"),
        HalfClose("decode-7").inject(stack, RNG),
    ):
        pass


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: LeakedBodies(0, 10), "count is at least 1"),
        (lambda: LeakedBodies(1, -1), "at_byte not negative"),
        (lambda: EatenPool(0), "at least one connection"),
    ],
)
def test_nonsense_is_refused(make: type[Fault], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()
