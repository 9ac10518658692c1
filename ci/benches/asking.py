"""Requests sent through a stack's own load generator, outside any experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from random import Random
from threading import Event, Lock
from typing import Final

from chaos.contracts import Clients, Request
from chaos.event import Kind, Mark
from chaos.workloads.prompt import prompt

PROMPT_BYTES: Final = 96
STOP_S: Final = 2.0
LOOK_S: Final = 0.02


def request(rng: Random, name: str, tokens: int = 8, due_s: float = 0.0) -> Request:
    return Request(name, due_s, prompt(rng, PROMPT_BYTES), tokens)


def marks_of(clients: Clients, requests: Sequence[Request], bound_s: float) -> list[Mark]:
    """Play them; what the clients saw until all settled, or until the bound was over."""
    heard: list[Mark] = []
    lock = Lock()

    def hear(mark: Mark) -> None:
        with lock:
            heard.append(mark)

    clients.start(requests, hear)
    if not clients.wait(bound_s):
        clients.stop(STOP_S)
    with lock:
        return list(heard)


def finished(clients: Clients, one: Request, bound_s: float) -> bool:
    return any(mark.kind is Kind.FINISHED for mark in marks_of(clients, [one], bound_s))


def until(true: Callable[[], bool], bound_s: float) -> bool:
    """Whether it came true within the bound."""
    over_s, pause = time.monotonic() + bound_s, Event()
    while not true():
        if time.monotonic() > over_s:
            return False
        pause.wait(LOOK_S)
    return True
