"""A pool eaten by undrained bodies bites, heals, and blames nobody else."""

from __future__ import annotations

import socket

from chaos.contracts import Stack
from chaos.event import Kind
from faults.client import EatenPool
from faults.httpx_pool import HttpxPool
from stack.clients import Clients
from tests.fakes.sse_server import SOON_S, SseServer
from tests.faults.misbehaving import RNG, UNDRAINED, answers, left, play, raise_inside


def test_an_eaten_pool_times_out_while_the_stack_is_well(stack: Stack) -> None:
    with EatenPool(pool=2).inject(stack, RNG) as proof:
        evidence = proof.read()
        assert answers(stack)
    assert evidence.bit
    assert dict(evidence.detail) == {
        "pool_timeout": True,
        "others_go_on": True,
        "client/httpx_pool": 2,
    }


def test_other_clients_go_on_while_a_pool_is_eaten(stack: Stack, clients: Clients) -> None:
    with EatenPool(pool=2).inject(stack, RNG):
        heard = play(clients, "r0")
        assert clients.wait(SOON_S)
    assert heard.ending("r0").kind is Kind.FINISHED


def test_an_eaten_pool_gives_its_connections_back(stack: Stack, server: SseServer) -> None:
    with EatenPool(pool=2).inject(stack, RNG):
        assert server.left.empty()
    assert left(server, 2) == set(UNDRAINED)


def test_an_eaten_pool_is_given_back_when_the_body_raises(stack: Stack, server: SseServer) -> None:
    raise_inside(EatenPool(pool=2), stack)
    assert left(server, 2) == set(UNDRAINED)


def test_a_pool_with_a_connection_left_is_not_exhausted(server: SseServer) -> None:
    pool = HttpxPool(server.url, 2)
    pool.leave_body("/v1/completions", {"prompt": "x", "max_tokens": 4}, "endless")
    assert not pool.exhausted()
    assert [reading.value for reading in pool.read()] == [1]
    pool.close()
    assert [reading.value for reading in pool.read()] == [0]


def test_a_stack_that_is_down_is_not_called_an_exhausted_pool() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, not listening: every connection is refused
        pool = HttpxPool(f"http://127.0.0.1:{nobody.getsockname()[1]}", 1)
        assert not pool.exhausted()
        assert not pool.others_go_on()
        pool.close()
