"""Which worker a routing key lives on is seen on the workers, one short request a key."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from chaos.contracts import Listener, Request
from chaos.event import Kind, Mark
from chaos.homes import KEYS, keys_on
from chaos.stage import Stage
from chaos.verdict import NotProven
from tests.chaos.fake_stack import FakeClients, FakeStack

DECODES = ("decode-0", "decode-1")


def dealt_in_turn(key: str) -> str:
    return DECODES[int(key[-1]) % 2]


@dataclass
class KeyedClients(FakeClients):
    """Every request leaves an intake mark on a prefill and on the decode of its key."""

    home: Callable[[str], str | None] = dealt_in_turn
    watching: list[Listener] = field(default_factory=list[Listener])
    asked: list[Request] = field(default_factory=list[Request])

    def start(self, requests: Sequence[Request], listener: Listener) -> None:
        self.asked += requests
        for request in requests:
            assert request.routing_key is not None
            for node in ("prefill-0", self.home(request.routing_key)):
                if node is not None:
                    self._enter(request, node)

    def _enter(self, request: Request, node: str) -> None:
        for stage in (Stage.INTAKE, Stage.BOOTSTRAP):
            mark = Mark(time.monotonic_ns(), node, Kind.STAGE, request.request_id, stage)
            for listener in self.watching:
                listener(mark)


@dataclass
class KeyedStack(FakeStack):
    """`clients` are `keyed`."""

    keyed: KeyedClients = field(default_factory=KeyedClients)

    def __post_init__(self) -> None:
        self.clients = self.keyed

    @contextmanager
    def observe(self, listener: Listener) -> Generator[None]:
        self.keyed.watching.append(listener)
        yield
        self.keyed.watching.remove(listener)


def test_every_key_is_found_on_the_decode_that_took_it() -> None:
    stack = KeyedStack()
    found = keys_on(stack, DECODES)
    assert [len(found[node]) for node in DECODES] == [KEYS // 2, KEYS // 2]
    assert all(dealt_in_turn(key) == node for node in DECODES for key in found[node])
    assert all(one.request_id == one.routing_key for one in stack.keyed.asked)
    assert stack.keyed.watching == []


def test_a_node_without_a_key_is_nothing_to_play_with() -> None:
    def all_to_one(_: str) -> str:
        return "decode-0"

    with pytest.raises(NotProven, match="decode-1"):
        keys_on(KeyedStack(keyed=KeyedClients(home=all_to_one)), DECODES, within_s=0.2)


def test_a_key_that_was_seen_nowhere_proves_nothing() -> None:
    def one_lost(key: str) -> str | None:
        return None if key == "key-05" else dealt_in_turn(key)

    with pytest.raises(NotProven):
        keys_on(KeyedStack(keyed=KeyedClients(home=one_lost)), DECODES, within_s=0.2)
