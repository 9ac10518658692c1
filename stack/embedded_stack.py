"""A running embedded stack, seen from outside, and what can be done to it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Final

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from chaos.contracts import Proof
from chaos.failpoint import Failpoint
from stack.child_environment import shown
from stack.engine.observers import MODEL
from stack.node_process import NodeFailed, NodeProcess
from stack.process_table import ProcessId
from stack.proofs import HitProof, KnobProof, RefusedProof, ToldProof
from stack.router_program import RouterProgram
from stack.running_stack import Parts, RunningStack
from stack.worker_admin import AdminSilent, WorkerAdmin
from stack.worker_program import WorkerProgram

_DISARM_MAX_S: Final = 3.0
_DISARM_EVERY_S: Final = 0.1


class EmbeddedAnatomy:
    """A worker is an HTTP front and the engine that it has forked."""

    def named(self, alive: Sequence[ProcessId]) -> Mapping[str, ProcessId]:
        # Parents come first; whatever a part has forked in addition is numbered.
        names = ["front", "engine", *(f"child-{index}" for index in range(len(alive)))]
        return dict(zip(names, alive, strict=False))

    def engine(self, alive: Sequence[ProcessId]) -> Sequence[ProcessId]:
        return alive[1:]  # the front's child, and whatever that one has forked


class EmbeddedStack:
    """Implements Stack, Killable, Freezable, Linked, Armable and Tunable."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sites: tuple[str, ...] = ()
        self._running = running = RunningStack(parts)
        self.name = f"embedded {parts.plan.name}"
        self.plan = parts.plan
        self.url = running.url
        self.model = MODEL
        self.deterministic = True  # its tokens depend on the whole prompt and on nothing else
        self.nodes = parts.nodes
        self.guards = parts.plan.guards
        self.clients = parts.clients
        self.signals = parts.signals
        self.resources = parts.resources
        self.links = running.links
        self.observe, self.ready = running.observe, running.ready
        self.kill, self.restart, self.pids = running.kill, running.restart, running.pids
        self.freeze, self.frozen, self.thaw = running.freeze, running.frozen, running.thaw
        self.terminate, self.terminated = running.terminate, running.terminated
        self.limit_descriptors = running.limit_descriptors
        self.descriptor_room = running.descriptor_room
        self.unlimit_descriptors = running.unlimit_descriptors

    def attachments(self) -> Mapping[str, str]:
        """The plan, each node's log, and each node's effective environment, redacted."""
        texts = self._running.attachments()
        for name in self._parts.processes:
            variables = shown(self._effective(name))
            texts[f"{name}.env"] = "\n".join(f"{key}={value}" for key, value in variables.items())
        return texts

    # Armable

    @property
    def failpoint_sites(self) -> Sequence[str]:
        if not self._sites:
            first = self._parts.plan.topology.workers[0]
            self._sites = self._admin(first).sites()
        return self._sites

    @contextmanager
    def arm(self, node: str, failpoint: Failpoint) -> Generator[Proof]:
        admin, process = self._admin(node), self._running.process(node)
        before = process.tree()  # the front and its engine: a crash takes one of them first

        def same() -> bool:
            return all(one.alive and not one.exiting for one in before)

        ours = process.dying_for_us() if failpoint.action == "crash" else nullcontext()
        with ours:
            identity = admin.arm(failpoint)
            try:
                yield HitProof(admin, identity, failpoint, same)
            finally:
                self._disarm(admin, identity, same)
                self._running.await_back(process)

    # Tunable

    @contextmanager
    def retune(
        self, node: str, environment: Mapping[str, str], timeout_s: float
    ) -> Generator[Proof]:
        process = self._running.process(node)
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

    def _admin(self, node: str) -> WorkerAdmin:
        program = _program(self._running.process(node))
        if not isinstance(program, WorkerProgram):
            raise ValueError(f"{node} has no failpoints: only workers have")  # noqa: TRY004 - a name
        return program.admin

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

    def _effective(self, node: str) -> Mapping[str, str]:
        process = self._running.process(node)
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
