"""The parts of a stack that every driver starts in the same way: clients, router, log readers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from chaos.contracts import Node, Probe
from stack.clients import Clients
from stack.frost import Frost
from stack.ground import Ground
from stack.log_tail import LogTail
from stack.node_process import NodeProcess
from stack.plan import Plan
from stack.probes import (
    ROUTER_RESOURCES,
    ROUTER_SIGNALS,
    HealthProbe,
    MetricsProbe,
)
from stack.process_table import identify
from stack.router_program import RouterProgram
from stack.routers.backends import Backends, Marks, Router
from stack.routers.breaker import Pauses
from stack.routers.sglang_router import SglangRouter
from stack.routers.smg import Smg
from stack.trace_sink import TraceSink

STOP_GRACE_S: Final = 0.1  # nobody waits for an answer any more; the router would take 0.5 s
ROUTERS: Final[Mapping[str, Router]] = {"smg": Smg(), "sglang-router": SglangRouter()}
_ROUTER_LABELS: Final = ("worker", "status_code", "error_code", "error_type", "gt", "le")


def start_clients(
    ground: Ground, port: int, model: str, undo: ExitStack, id_field: str | None = None
) -> Clients:
    """The load generator, aimed at this port; `id_field`: see stack.clients."""

    def keep(pid: int) -> None:
        process = identify(pid)
        if process is not None:
            ground.guardian.keep_process(process)

    clients = Clients(f"http://127.0.0.1:{port}", model=model, on_spawn=keep, id_field=id_field)
    undo.callback(clients.close)
    return clients


def router_program(plan: Plan, ground: Ground, backends: Backends) -> RouterProgram:
    told = plan.environment.get("router", {})
    pauses = Pauses(plan.timers.breaker_s)
    return RouterProgram(ground.guardian, ROUTERS[plan.router], plan, backends, told, pauses)


def end_with(undo: ExitStack, processes: Mapping[str, NodeProcess], frost: Frost) -> None:
    """However the stack ends: thaw, ask all to end, end them."""
    for process in processes.values():
        undo.callback(process.stop, STOP_GRACE_S)
    for process in processes.values():
        undo.callback(process.ask_to_end)
    undo.callback(frost.thaw_all)  # before the stops: a frozen process does not die


def follow(process: NodeProcess, marks: Marks, sink: TraceSink, undo: ExitStack) -> None:
    """Hand on the marks that each line of a node's log amounts to."""

    def read(line: str) -> None:
        for mark in marks(line):
            sink.tell(mark)

    def broken(error: Exception) -> None:
        sink.fail(f"log of {process.name}", f"it is not followed any more: {error!r}")

    tail = LogTail(process.log, read, broken)
    tail.start()
    undo.callback(tail.close)


def await_all(processes: Mapping[str, NodeProcess], ready_max_s: float) -> None:
    """Start them all, and wait until all answer. Raises NodeFailed for the first that does not.

    The router comes last: it looks at its workers when it starts, and at those that did not
    answer then only a second later.
    """
    deadline_s = time.monotonic() + ready_max_s
    workers = [process for name, process in processes.items() if name != "router"]
    for group in (workers, [processes["router"]]):
        for process in group:
            process.start()
        for process in group:
            process.await_ready(max(0.1, deadline_s - time.monotonic()))


def nodes(router: RouterProgram, workers: Mapping[str, str]) -> Sequence[Node]:
    """The router and then the workers, whose own URLs these are."""
    behind = [Node(name, name.partition("-")[0], url) for name, url in workers.items()]
    return [Node("router", "router", router.url), *behind]


def router_signals(router: RouterProgram) -> Sequence[Probe]:
    names = router.backends.nodes
    page = MetricsProbe("router", router.metrics_url, ROUTER_SIGNALS, _ROUTER_LABELS, names)
    return [page, HealthProbe("router", router.url, "/readiness")]


def router_resources(router: RouterProgram) -> Sequence[Probe]:
    names = router.backends.nodes
    page = MetricsProbe(
        "router", router.metrics_url, ROUTER_RESOURCES, ("worker",), names, router.router.idle
    )
    return [page]
