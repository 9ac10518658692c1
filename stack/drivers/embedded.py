"""Starts the embedded stack: real router, real links, our own small prefill/decode engine."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from chaos.contracts import Probe
from stack.clients import Clients
from stack.embedded_stack import EmbeddedStack, Parts
from stack.engine.observers import MODEL
from stack.frost import Frost
from stack.ground import Ground, shared_ground
from stack.layout import Layout, lay_out
from stack.log_tail import LogTail
from stack.node_process import NodeProcess
from stack.plan import Plan
from stack.ports import Ports
from stack.probes import (
    ROUTER_RESOURCES,
    ROUTER_SIGNALS,
    WORKER_LABELS,
    WORKER_RESOURCES,
    WORKER_SIGNALS,
    HealthProbe,
    MetricsProbe,
    ProcessProbe,
    SharedMemoryProbe,
)
from stack.process_table import identify
from stack.router_program import RouterProgram
from stack.routers.backends import Router
from stack.routers.sglang_router import SglangRouter
from stack.routers.smg import Smg
from stack.trace_sink import TraceSink
from stack.worker_program import WorkerProgram

READY_MAX_S: Final = 60.0  # 1 s when the machine is idle; torch alone took 8 s on a busy one
STOP_GRACE_S: Final = 0.1  # nobody waits for an answer any more; the router would take 0.5 s
_ROUTERS: Final[Mapping[str, Router]] = {"smg": Smg(), "sglang-router": SglangRouter()}
_ROUTER_LABELS: Final = ("worker", "status_code", "error_code", "error_type", "gt", "le")


class EmbeddedDriver:
    """Implements chaos.contracts.Driver. Without a ground of its own it uses the process's."""

    name = "embedded"

    def __init__(self, plan: Plan, ground: Ground | None = None) -> None:
        self._plan = plan
        self._ground = ground

    @contextmanager
    def launch(self) -> Generator[EmbeddedStack]:
        """A stack that answers. Raises NodeFailed with a node's last words; nothing stays."""
        ground = self._ground or shared_ground()
        with ExitStack() as undo:
            yield _start(self._plan, ground, undo)


def _start(plan: Plan, ground: Ground, undo: ExitStack) -> EmbeddedStack:
    _ = ground.nursery  # the zygote loads torch while everything else is prepared
    directory = ground.stack_directory(str(plan.topology))
    board = undo.enter_context(ground.switchboard())
    ports = Ports()
    undo.callback(ports.release)
    sink = TraceSink(directory / "trace.sock")
    undo.callback(sink.close)
    layout = lay_out(plan, ground, board, ports, sink.path)
    clients = _clients(ground, layout, undo)
    processes = _processes(plan, ground, layout, directory)
    frost = Frost(ground.guardian)
    for process in processes.values():
        undo.callback(process.stop, STOP_GRACE_S)
    for process in processes.values():
        undo.callback(process.ask_to_end)
    undo.callback(frost.thaw_all)  # before the stops: a frozen process does not die
    _follow_router(plan, processes["router"], sink, undo)
    _await_all(processes)
    signals, resources = _signals(layout, processes), _resources(layout, ground, processes)
    return EmbeddedStack(
        Parts(plan, layout, board, sink, frost, clients, processes, signals, resources)
    )


def _clients(ground: Ground, layout: Layout, undo: ExitStack) -> Clients:
    def keep(pid: int) -> None:
        process = identify(pid)
        if process is not None:
            ground.guardian.keep_process(process)

    clients = Clients(f"http://127.0.0.1:{layout.client_port}", model=MODEL, on_spawn=keep)
    undo.callback(clients.close)
    return clients


def _processes(
    plan: Plan, ground: Ground, layout: Layout, directory: Path
) -> dict[str, NodeProcess]:
    def node(name: str, program: WorkerProgram | RouterProgram) -> NodeProcess:
        return NodeProcess(name, program, directory / f"{name}.log")

    router = RouterProgram(
        ground.guardian,
        _ROUTERS[plan.router],
        plan,
        layout.backends,
        plan.environment.get("router", {}),
    )
    workers = {name: WorkerProgram(ground, config) for name, config in layout.workers.items()}
    programs: dict[str, WorkerProgram | RouterProgram] = {"router": router, **workers}
    return {name: node(name, program) for name, program in programs.items()}


def _follow_router(plan: Plan, router: NodeProcess, sink: TraceSink, undo: ExitStack) -> None:
    reader = _ROUTERS[plan.router]

    def read(line: str) -> None:
        mark = reader.mark(line)
        if mark is not None:
            sink.tell(mark)

    tail = LogTail(router.log, read)
    tail.start()
    undo.callback(tail.close)


def _await_all(processes: Mapping[str, NodeProcess]) -> None:
    for process in processes.values():  # the router first: it starts while torch is imported
        process.start()
    deadline_s = time.monotonic() + READY_MAX_S
    for name in sorted(processes, key=lambda name: name == "router"):
        processes[name].await_ready(max(0.1, deadline_s - time.monotonic()))


def _signals(layout: Layout, processes: Mapping[str, NodeProcess]) -> Sequence[Probe]:
    router = _router(processes)
    probes: list[Probe] = [
        MetricsProbe(
            "router",
            router.metrics_url,
            ROUTER_SIGNALS,
            _ROUTER_LABELS,
            layout.backends.nodes,
        ),
        HealthProbe("router", router.url, "/readiness"),
    ]
    for name, config in layout.workers.items():
        url = f"http://{config.host}:{config.port}"
        probes += [MetricsProbe(name, url, WORKER_SIGNALS, WORKER_LABELS), HealthProbe(name, url)]
    return probes


def _resources(
    layout: Layout, ground: Ground, processes: Mapping[str, NodeProcess]
) -> Sequence[Probe]:
    router = _router(processes)
    wanted = (ROUTER_RESOURCES, ("worker",), layout.backends.nodes)
    probes: list[Probe] = [MetricsProbe("router", router.metrics_url, *wanted)]
    for name, config in layout.workers.items():
        url = f"http://{config.host}:{config.port}"
        probes.append(MetricsProbe(name, url, WORKER_RESOURCES))
    probes += [ProcessProbe(name, process.tree) for name, process in processes.items()]
    return [*probes, SharedMemoryProbe(ground.shared_memory)]


def _router(processes: Mapping[str, NodeProcess]) -> RouterProgram:
    program = processes["router"].program
    assert isinstance(program, RouterProgram)
    return program
