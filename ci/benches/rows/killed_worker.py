"""How soon a worker that was killed is back: for whoever asks it, and for the router."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from chaos.contracts import Unreadable
from chaos.seed import source
from ci.benches.asking import finished, request, until
from ci.benches.effort import Effort, NotMeasured
from ci.benches.promise import Figure, Promise, at_most
from stack.drivers.embedded import EmbeddedDriver
from stack.embedded_stack import EmbeddedStack
from stack.plan import Plan

ANSWERS: Final = "a killed worker answers again"
ROUTED: Final = "a killed worker is routed to again"
PROMISES = (Promise(ANSWERS, at_most(0.1, "s")), Promise(ROUTED, at_most(1.1, "s")))
WORKER: Final = "decode-0"
RESTART_S: Final = 10.0
CONDEMN_S: Final = 10.0
ROUTE_S: Final = 15.0
REQUEST_S: Final = 3.0
HEALTH: Final = "router/smg_worker_health{decode-0}"


def measure(effort: Effort) -> Iterator[Figure]:
    with EmbeddedDriver(Plan()).launch() as stack:
        answers = [_answers(stack) for _ in range(effort.pick(30, 6))]
        yield Figure(ANSWERS, tuple(answers), "from SIGKILL of front and engine to /health 200")
        routed = [_routed(stack, index) for index in range(effort.pick(10, 2))]
        note = "from its start, after the router had condemned it, to a finished request through it"
        yield Figure(ROUTED, tuple(routed), note)


def _answers(stack: EmbeddedStack) -> float:
    began_s = time.monotonic()
    stack.kill(WORKER)
    stack.restart(WORKER, RESTART_S)
    return time.monotonic() - began_s


def _routed(stack: EmbeddedStack, index: int) -> float:
    """There is no other decode worker: a request that finishes was routed to this one."""
    stack.kill(WORKER)
    if not until(lambda: _health(stack) == 0, CONDEMN_S):
        raise NotMeasured(f"the router did not condemn a dead worker in {CONDEMN_S:.0f} s")
    began_s = time.monotonic()
    stack.restart(WORKER, RESTART_S)
    rng = source(index, "bench/routed")

    def serves() -> bool:
        return finished(stack.clients, request(rng, f"{index}-{time.monotonic_ns()}"), REQUEST_S)

    if not until(serves, ROUTE_S):
        raise NotMeasured(f"the router sent nothing to a living worker for {ROUTE_S:.0f} s")
    return time.monotonic() - began_s


def _health(stack: EmbeddedStack) -> float | None:
    for probe in stack.signals:
        if probe.name == "router/metrics":
            try:
                return {one.name: one.value for one in probe.read()}.get(HEALTH)
            except Unreadable:
                return None
    return None
