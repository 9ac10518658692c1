"""Starts the embedded stack: real router, real links, our own small prefill/decode engine."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from chaos.contracts import Probe
from stack.death import Witness
from stack.embedded_stack import EmbeddedAnatomy, EmbeddedStack
from stack.engine.observers import MODEL
from stack.frost import Frost
from stack.ground import Ground, shared_ground
from stack.layout import Layout, lay_out
from stack.node_process import NodeProcess
from stack.plan import Plan
from stack.ports import Ports
from stack.probes import (
    WORKER_IDLE,
    WORKER_LABELS,
    WORKER_RESOURCES,
    WORKER_SIGNALS,
    HealthProbe,
    MetricsProbe,
    ProcessProbe,
    SharedMemoryProbe,
)
from stack.router_program import RouterProgram
from stack.running_stack import Parts
from stack.start_up import (
    await_all,
    end_with,
    follow,
    nodes,
    router_program,
    router_resources,
    router_signals,
    start_clients,
)
from stack.trace_sink import TraceSink
from stack.worker_program import WorkerProgram

READY_MAX_S: Final = 60.0  # 1 s when the machine is idle; torch alone took 8 s on a busy one
BACK_MAX_S: Final = 3.0  # with the rest of an undoing below the five seconds it is granted


class EmbeddedDriver:
    """Implements chaos.contracts.Driver. Without a ground of its own it uses the process's."""

    name = "embedded"

    def __init__(self, plan: Plan, ground: Ground | None = None) -> None:
        self._plan = plan
        self._ground = ground

    @property
    def plan(self) -> Plan:
        return self._plan

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
    clients = start_clients(ground, layout.client_port, MODEL, undo)
    router = router_program(plan, ground, layout.backends)
    processes = _processes(router, ground, layout, directory, sink)
    frost = Frost(ground.guardian)
    end_with(undo, processes, frost)
    follow(processes["router"], router.log_reader(), sink, undo)
    await_all(processes, READY_MAX_S)
    return EmbeddedStack(
        Parts(
            plan=plan,
            board=board,
            sink=sink,
            frost=frost,
            clients=clients,
            client_port=layout.client_port,
            nodes=nodes(router, layout.urls),
            processes=processes,
            anatomy=EmbeddedAnatomy(),
            back_max_s=BACK_MAX_S,
            signals=[*router_signals(router), *_signals(layout)],
            resources=_resources(router, layout, ground, processes),
        )
    )


def _processes(
    router: RouterProgram, ground: Ground, layout: Layout, directory: Path, sink: TraceSink
) -> dict[str, NodeProcess]:
    worker = Witness(sink.tell, EmbeddedAnatomy().named)
    workers = {
        name: NodeProcess(name, WorkerProgram(ground, config), directory / f"{name}.log", worker)
        for name, config in layout.workers.items()
    }
    log = directory / "router.log"
    return {"router": NodeProcess("router", router, log, Witness(sink.tell)), **workers}


def _signals(layout: Layout) -> Sequence[Probe]:
    probes: list[Probe] = []
    for name, url in layout.urls.items():
        probes += [MetricsProbe(name, url, WORKER_SIGNALS, WORKER_LABELS), HealthProbe(name, url)]
    return probes


def _resources(
    router: RouterProgram, layout: Layout, ground: Ground, processes: Mapping[str, NodeProcess]
) -> Sequence[Probe]:
    workers = [
        MetricsProbe(name, url, WORKER_RESOURCES, idle=WORKER_IDLE)
        for name, url in layout.urls.items()
    ]
    trees = [ProcessProbe(name, process.tree) for name, process in processes.items()]
    shared = SharedMemoryProbe(ground.shared_memory)
    return [*router_resources(router), *workers, *trees, shared]
