"""Which worker a routing key lives on is seen on the workers, one short request a key."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from chaos.contracts import Request
from chaos.event import Kind, Mark
from chaos.homes import KEYS, keys_on
from chaos.stage import Stage
from chaos.verdict import NotProven
from tests.chaos.fake_stack import FakeStack

DECODES = ("decode-0", "decode-1")


def dealt_in_turn(key: str) -> str | None:
    return DECODES[int(key[-1]) % 2]


def keyed_stack(home: Callable[[str], str | None] = dealt_in_turn) -> FakeStack:
    """Every request is taken in by the prefill and by the decode of its key."""
    stack = FakeStack()

    def take(request: Request) -> None:
        assert request.routing_key is not None
        for node in ("prefill-0", home(request.routing_key)):
            if node is not None:
                enter(stack, request, node)

    stack.clients.taken = take
    return stack


def enter(stack: FakeStack, request: Request, node: str) -> None:
    for stage in (Stage.INTAKE, Stage.BOOTSTRAP):
        mark = Mark(time.monotonic_ns(), node, Kind.STAGE, request.request_id, stage)
        for listener in stack.observers:
            listener(mark)


def test_every_key_is_found_on_the_decode_that_took_it() -> None:
    stack = keyed_stack()
    found = keys_on(stack, DECODES)
    assert [len(found[node]) for node in DECODES] == [KEYS // 2, KEYS // 2]
    assert all(dealt_in_turn(key) == node for node in DECODES for key in found[node])
    assert stack.observers == []


def test_a_node_without_a_key_is_nothing_to_play_with() -> None:
    with pytest.raises(NotProven, match="decode-1"):
        keys_on(keyed_stack(lambda _: "decode-0"), DECODES, within_s=0.5)


def test_fewer_keys_than_were_wanted_are_not_enough() -> None:
    with pytest.raises(NotProven, match=f"expected {KEYS}"):
        keys_on(keyed_stack(), DECODES, each=KEYS)


def test_a_key_that_was_seen_nowhere_proves_nothing() -> None:
    def one_lost(key: str) -> str | None:
        return None if key == "key-05" else dealt_in_turn(key)

    with pytest.raises(NotProven):
        keys_on(keyed_stack(one_lost), DECODES, within_s=0.5)
