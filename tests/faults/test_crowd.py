"""A crowd bites by what was refused, and hangs up when healed, whatever the body does."""

from __future__ import annotations

import pytest
from aiohttp import web

from chaos.contracts import Stack
from faults.crowd import Crowd
from tests.fakes.sse_server import Asked, SseServer, complete, silent, stalled
from tests.faults.misbehaving import RNG, left, raise_inside

ADMITTED = {"crowd-0", "crowd-1"}


async def full(_asked: Asked) -> web.StreamResponse:
    return web.json_response({"error": {"message": "full"}}, status=503)


@pytest.fixture
def crowded(server: SseServer) -> SseServer:
    """Room for two of five."""
    server.replies.update(dict.fromkeys(ADMITTED, stalled))
    server.replies.update({f"crowd-{index}": full for index in range(2, 5)})
    return server


@pytest.mark.usefixtures("crowded")
def test_a_crowd_is_proven_by_those_that_were_refused(stack: Stack) -> None:
    with Crowd(5, refused_min=3).inject(stack, RNG) as proof:
        evidence = proof.read()
        assert proof.read() == evidence
    assert evidence.bit
    told = {"asked": 5, "refused": 3, "failed": 0, "admitted": 2, "unanswered": 0}
    assert evidence.detail == told


def test_those_that_were_admitted_hang_up_when_it_is_healed(
    stack: Stack, crowded: SseServer
) -> None:
    with Crowd(5).inject(stack, RNG):
        assert crowded.left.empty()
    assert left(crowded, 2) == ADMITTED


def test_those_that_were_admitted_hang_up_when_the_body_raises(
    stack: Stack, crowded: SseServer
) -> None:
    raise_inside(Crowd(5), stack)
    assert left(crowded, 2) == ADMITTED


@pytest.mark.usefixtures("crowded")
def test_fewer_refusals_than_were_asked_for_are_a_no_op(stack: Stack) -> None:
    with Crowd(5, refused_min=4).inject(stack, RNG) as proof:
        assert not proof.read().bit


async def broken(_asked: Asked) -> web.StreamResponse:
    return web.json_response({"error": {"message": "bug"}}, status=500)


def test_another_error_is_told_apart_and_an_answer_that_never_came_turns_nobody_away(
    stack: Stack, server: SseServer
) -> None:
    server.replies.update({"crowd-0": broken, "crowd-1": silent, "crowd-2": complete})
    with Crowd(3, within_s=0.2).inject(stack, RNG) as proof:
        evidence = proof.read()
    assert evidence.bit
    told = {"asked": 3, "refused": 0, "failed": 1, "admitted": 1, "unanswered": 1}
    assert evidence.detail == told
    with Crowd(3, refused_min=2, within_s=0.2).inject(stack, RNG) as proof:
        assert not proof.read().bit


@pytest.mark.parametrize("refused_min", [0, 6])
def test_an_impossible_crowd_is_refused_when_it_is_written(refused_min: int) -> None:
    with pytest.raises(ValueError, match=r"refused_min: expected 1 to count \(5\)"):
        Crowd(5, refused_min=refused_min)
