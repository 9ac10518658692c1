"""Starts real SGLang: prefill and decode servers, KV over mooncake TCP, behind the real router."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from chaos.contracts import Probe
from chaos.event import Mark
from chaos.traits import Pace
from stack.death import Witness
from stack.drivers import sglang_log
from stack.drivers.sglang_cpu.environment import SGLANG
from stack.drivers.sglang_failure import explained
from stack.drivers.sglang_first_light import FirstLight
from stack.drivers.sglang_guards import ROUTERS_OWN, SLACK_S, TIMERS, settings
from stack.drivers.sglang_model import tiny_model
from stack.drivers.sglang_probes import HealthPage, LoadsProbe
from stack.drivers.sglang_program import SERVED_NAME, SglangAnatomy, SglangProgram
from stack.drivers.sglang_shared_memory import SharedMemory, SharedMemoryCount
from stack.drivers.sglang_stack import SglangStack
from stack.frost import Frost
from stack.ground import Ground, shared_ground
from stack.layout import Wiring
from stack.node_process import NodeProcess
from stack.plan import Plan
from stack.ports import Ports
from stack.probes import ProcessProbe
from stack.router_program import RouterProgram
from stack.routers.backends import Backends
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

READY_MAX_S: Final = 300.0  # 36 s on a quiet machine, 250 s on a very busy one
BACK_MAX_S: Final = 12.0  # two looks of the router's health check at a thawed server
FACTOR: Final = 3.0  # what a budget of the embedded stack is worth here
RESTART_MIN_S: Final = 90.0
ALONE: Final = 0.8  # of the time of a whole start, for one server that starts alone
TOKENS_MAX: Final = 1200  # of one reply: some seconds on a CPU


class SglangDriver:
    """Implements chaos.contracts.Driver.

    ValueError for a plan that a real engine cannot have, NotInstalled where it is not here.
    """

    name = "sglang"

    def __init__(self, plan: Plan, ground: Ground | None = None) -> None:
        if off := sorted(plan.guards_off.difference(ROUTERS_OWN)):
            raise ValueError(f"sglang: its guards cannot be switched off: {', '.join(off)}")
        SGLANG.require()
        self._plan = replace(plan, timers=TIMERS, slack_s=SLACK_S, knobs={})
        self._ground = ground

    @property
    def plan(self) -> Plan:
        """What is left of the plan: the embedded engine's knobs mean nothing here."""
        return self._plan

    @contextmanager
    def launch(self) -> Generator[SglangStack]:
        """A stack through which KV has moved. Raises NoModel, NodeFailed."""
        model = tiny_model(SGLANG)
        ground = self._ground or shared_ground()
        with ExitStack() as undo, explained():
            stack = _Start(self._plan, ground, model, undo).stack()
            yield stack


class _Start:
    """One start, part by part; whatever was begun is in `undo`."""

    def __init__(self, plan: Plan, ground: Ground, model: Path, undo: ExitStack) -> None:
        self._plan = plan
        self._ground = ground
        self._model = model
        self._undo = undo
        self._directory = ground.stack_directory(f"sglang-{plan.topology}")
        self._board = undo.enter_context(ground.switchboard())
        self._ports = Ports()
        undo.callback(self._ports.release)
        self._memory = SharedMemory(ground.guardian, ground.shared_memory)
        undo.callback(self._memory.remove_all)
        self._sink = TraceSink(self._directory / "trace.sock")
        undo.callback(self._sink.close)

    def stack(self) -> SglangStack:
        began_s = time.monotonic()
        wiring = Wiring(self._ground, self._board, self._ports)
        workers = {name: self._worker(name) for name in self._plan.topology.workers}
        router = router_program(self._plan, self._ground, self._backends(workers, wiring))
        client_port = wiring.link("client->router", router.backends.port)
        clients = start_clients(self._ground, client_port, SERVED_NAME, self._undo, "rid")
        processes = self._processes(router, workers)
        frost = Frost(self._ground.guardian)
        end_with(self._undo, processes, frost)
        self._follow(router, processes)
        await_all(processes, READY_MAX_S)
        prefills = [one.url for one in workers.values() if one.role == "prefill"]
        FirstLight(router.url, SERVED_NAME, prefills).wait(READY_MAX_S)
        urls = {name: one.url for name, one in workers.items()}
        parts = Parts(
            plan=self._plan,
            board=self._board,
            sink=self._sink,
            frost=frost,
            clients=clients,
            client_port=client_port,
            nodes=nodes(router, urls),
            processes=processes,
            anatomy=SglangAnatomy(),
            back_max_s=BACK_MAX_S,
            signals=[*router_signals(router), *_signals(urls)],
            resources=self._resources(router, urls, processes),
        )
        return SglangStack(parts, _pace(time.monotonic() - began_s))

    def _worker(self, name: str) -> SglangProgram:
        return SglangProgram(
            guardian=self._ground.guardian,
            shared_memory=self._memory,
            name=name,
            python=SGLANG.require(),
            model=self._model,
            port=self._ports.lease(),
            rendezvous_port=self._ports.lease(),
            bootstrap_port=self._ports.lease() if name.startswith("prefill") else None,
            directory=self._directory / name,
            environment=settings(self._plan, name),
            on_cpu=not SGLANG.has_accelerator(),
            semaphores=f"/{self._ground.shared_memory}",
        )

    def _backends(self, workers: Mapping[str, SglangProgram], wiring: Wiring) -> Backends:
        """The router tells both legs where to meet: at the link's port, not at prefill's own."""
        decodes = self._plan.topology.names("decode")
        near = decodes[0] if len(decodes) == 1 else "decode"  # one port serves all of them
        prefills: dict[str, tuple[str, int]] = {}
        urls: dict[str, str] = {}
        for name, worker in workers.items():
            url = f"http://127.0.0.1:{wiring.link(f'router->{name}', worker.port)}"
            if worker.bootstrap_port is None:
                urls[name] = url
            else:
                link = wiring.link(f"{near}->{name}/bootstrap", worker.bootstrap_port)
                prefills[name] = (url, link)
        return Backends(self._ports.lease(), self._ports.lease(), prefills, urls)

    def _processes(
        self, router: RouterProgram, workers: Mapping[str, SglangProgram]
    ) -> dict[str, NodeProcess]:
        server = Witness(self._sink.tell, SglangAnatomy().named)
        servers = {
            name: NodeProcess(name, program, self._directory / f"{name}.log", server)
            for name, program in workers.items()
        }
        log = self._directory / "router.log"
        return {"router": NodeProcess("router", router, log, Witness(self._sink.tell)), **servers}

    def _follow(self, router: RouterProgram, processes: Mapping[str, NodeProcess]) -> None:
        follow(processes["router"], router.log_reader(), self._sink, self._undo)
        for name in self._plan.topology.workers:

            def marks(line: str, name: str = name) -> Sequence[Mark]:
                found = sglang_log.mark(name, line)
                return [found] if found else []

            follow(processes[name], marks, self._sink, self._undo)

    def _resources(
        self, router: RouterProgram, urls: Mapping[str, str], processes: Mapping[str, NodeProcess]
    ) -> Sequence[Probe]:
        loads = [LoadsProbe(name, url) for name, url in urls.items()]
        trees = [ProcessProbe(name, process.tree) for name, process in processes.items()]
        return [*router_resources(router), *loads, *trees, SharedMemoryCount(self._memory)]


def _signals(urls: Mapping[str, str]) -> Sequence[Probe]:
    loads = [LoadsProbe(name, url) for name, url in urls.items()]
    return [*loads, *(HealthPage(name, url) for name, url in urls.items())]


def _pace(start_s: float) -> Pace:
    """A server that starts alone is quicker than the whole stack was; a busy machine may change."""
    restart_s = max(RESTART_MIN_S, 3 * start_s)
    return Pace(FACTOR, ALONE * start_s, restart_s, TOKENS_MAX)
