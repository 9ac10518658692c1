"""A running embedded stack, seen from outside, and what can be done to it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from chaos.contracts import Failpoint, Guard, Link, Listener, Node, Probe, Proof
from chaos.event import Json
from stack.child_environment import shown
from stack.clients import Clients
from stack.engine.observers import MODEL
from stack.frost import Frost
from stack.layout import Layout
from stack.links import Switchboard
from stack.log_tail import last_lines
from stack.node_process import NodeFailed, NodeProcess
from stack.plan import Plan
from stack.process_table import ProcessId
from stack.proofs import HitProof, KnobProof, RefusedProof, ToldProof
from stack.router_program import RouterProgram
from stack.trace_sink import TraceSink
from stack.worker_admin import AdminSilent, WorkerAdmin
from stack.worker_program import WorkerProgram

_DISARM_MAX_S: Final = 3.0
_DISARM_EVERY_S: Final = 0.1
_BACK_MAX_S: Final = 3.0  # with the rest of an undoing below the five seconds it is granted
_ATTACHED_LINES: Final = 200


@dataclass(frozen=True, slots=True)
class Parts:
    """What the driver has started and will end."""

    plan: Plan
    layout: Layout
    board: Switchboard
    sink: TraceSink
    frost: Frost
    clients: Clients
    processes: Mapping[str, NodeProcess]  # router first
    signals: Sequence[Probe]
    resources: Sequence[Probe]


class EmbeddedStack:
    """Implements Stack, Killable, Freezable, Linked, Armable and Tunable."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sites: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"embedded {self._parts.plan.name}"

    @property
    def plan(self) -> Plan:
        return self._parts.plan

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._parts.layout.client_port}"

    @property
    def model(self) -> str:
        return MODEL

    @property
    def nodes(self) -> Sequence[Node]:
        return [
            Node(name, name.partition("-")[0], _program(process).url)
            for name, process in self._parts.processes.items()
        ]

    @property
    def guards(self) -> Mapping[str, Guard]:
        return self._parts.plan.guards

    @property
    def clients(self) -> Clients:
        return self._parts.clients

    @property
    def signals(self) -> Sequence[Probe]:
        return self._parts.signals

    @property
    def resources(self) -> Sequence[Probe]:
        return self._parts.resources

    def observe(self, listener: Listener) -> AbstractContextManager[None]:
        return self._parts.sink.observe(listener)

    def attachments(self) -> Mapping[str, str]:
        """The plan, each node's log, and each node's effective environment, redacted."""
        texts = {"plan": str(self._parts.plan)}
        for name, process in self._parts.processes.items():
            texts[f"{name}.log"] = last_lines(process.log, _ATTACHED_LINES)
            variables = shown(self._effective(name))
            texts[f"{name}.env"] = "\n".join(f"{key}={value}" for key, value in variables.items())
        return texts

    # Killable

    def kill(self, node: str) -> Mapping[str, Json]:
        before = self.pids(node)
        self._parts.frost.thaw_node(node)
        died = self._process(node).kill()
        return {**before, "died": " ".join(str(one.pid) for one in died)}

    def restart(self, node: str, timeout_s: float) -> None:
        self._parts.frost.thaw_node(node)
        self._process(node).restart(timeout_s)

    def pids(self, node: str) -> Mapping[str, Json]:
        alive = self._process(node).tree()
        parts = ("front", "engine") if node != "router" else ("router",)
        # Parents come first; whatever a part has forked in addition is numbered.
        names = [*parts, *(f"child-{index}" for index in range(len(alive)))]
        return {name: one.pid for name, one in zip(names, alive, strict=False)}

    # Freezable

    def freeze(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        return self._parts.frost.freeze(node, part, how, self._part(node, part))

    def frozen(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        return self._parts.frost.state(node, part, how)

    def thaw(self, node: str, part: str, how: str) -> None:
        self._parts.frost.thaw(node, part, how)
        self._await_back(self._process(node))

    # Linked

    @property
    def links(self) -> Mapping[str, Link]:
        return self._parts.board.links

    # Armable

    @property
    def failpoint_sites(self) -> Sequence[str]:
        if not self._sites:
            first = self._parts.plan.topology.workers[0]
            self._sites = self._admin(first).sites()
        return self._sites

    @contextmanager
    def arm(self, node: str, failpoint: Failpoint) -> Generator[Proof]:
        admin, process = self._admin(node), self._process(node)
        before = process.tree()  # the front and its engine: a crash takes one of them first

        def same() -> bool:
            return all(one.alive for one in before)

        identity = admin.arm(failpoint)
        try:
            yield HitProof(admin, identity, failpoint, same)
        finally:
            self._disarm(admin, identity, same)
            self._await_back(process)

    # Tunable

    @contextmanager
    def retune(
        self, node: str, environment: Mapping[str, str], timeout_s: float
    ) -> Generator[Proof]:
        process = self._process(node)
        original = _program(process)
        self._parts.frost.thaw_node(node)
        try:
            yield self._tuned(process, original, environment, timeout_s)
        finally:
            process.restart(timeout_s, original)

    def _tuned(
        self,
        process: NodeProcess,
        original: WorkerProgram | RouterProgram,
        environment: Mapping[str, str],
        timeout_s: float,
    ) -> Proof:
        try:
            if isinstance(original, WorkerProgram):
                process.restart(timeout_s, original.with_environment(environment))
                return KnobProof(original.admin, environment)
            changed = {**original.environment, **environment}
            process.restart(timeout_s, replace(original, environment=changed))
        except NodeFailed as failure:
            if not failure.own_doing:
                raise
            return RefusedProof(process.name, failure.exit_code, str(failure))
        started = process.process
        return ToldProof(process.name, lambda: process.process == started, environment)

    def _process(self, node: str) -> NodeProcess:
        if node not in self._parts.processes:
            known = ", ".join(self._parts.processes)
            raise ValueError(f"no node {node!r} here; there are: {known}")
        return self._parts.processes[node]

    def _admin(self, node: str) -> WorkerAdmin:
        program = _program(self._process(node))
        if not isinstance(program, WorkerProgram):
            raise ValueError(f"{node} has no failpoints: only workers have")  # noqa: TRY004 - a name
        return program.admin

    def _part(self, node: str, part: str) -> list[ProcessId]:
        alive = self._process(node).tree()
        if part == "whole":
            return alive
        if part != "engine" or node == "router":
            raise ValueError(f"part of {node}: expected 'whole' or a worker's 'engine': {part!r}")
        return alive[1:]  # the front's child, and whatever that one has forked

    def _disarm(self, admin: WorkerAdmin, identity: str, same: Callable[[], bool]) -> None:
        """The failpoint is gone when it says so, or when a process that had it is gone."""
        for attempt in Retrying(
            stop=stop_after_delay(_DISARM_MAX_S),
            wait=wait_fixed(_DISARM_EVERY_S),
            retry=retry_if_exception_type(AdminSilent),
            reraise=True,
        ):
            with attempt:
                if same():
                    admin.disarm(identity)

    def _await_back(self, process: NodeProcess) -> None:
        """A node that died of a fault is replaced in place: healing ends when it answers.

        Not when another fault still has it; and one that never answers is for the recovery
        probe to tell, not an error of the undoing.
        """
        if not process.held and not self._parts.frost.has(process.name):
            with suppress(NodeFailed):
                process.await_ready(_BACK_MAX_S)

    def _effective(self, node: str) -> Mapping[str, str]:
        process = self._process(node)
        program = _program(process)
        if isinstance(program, RouterProgram):
            return program.environment  # smg overwrites its own in /proc with a title
        try:
            return {name: str(value) for name, value in program.admin.knobs().items()}
        except AdminSilent:
            return program.config.environment  # what it was told; it cannot be asked


def _program(process: NodeProcess) -> WorkerProgram | RouterProgram:
    program = process.program
    assert isinstance(program, WorkerProgram | RouterProgram)
    return program
