"""A running real SGLang stack, seen from outside, and what can be done to it."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from chaos.contracts import Proof
from chaos.traits import Pace
from stack.child_environment import shown
from stack.drivers.sglang_guards import guards
from stack.drivers.sglang_log import STAGES
from stack.drivers.sglang_program import SERVED_NAME, SglangProgram
from stack.node_process import NodeFailed, NodeProcess
from stack.proofs import RefusedProof, ToldProof
from stack.router_program import RouterProgram
from stack.running_stack import Parts, RunningStack

_LOOK_S: Final = 0.2


class SglangStack:
    """Implements Stack, Killable, Freezable, Linked, Tunable, Paced and Marking.

    It has no failpoints, no stage marks from inside, and no link for KV: mooncake chooses its
    ports by itself.
    """

    def __init__(self, parts: Parts, pace: Pace) -> None:
        self._parts = parts
        self._running = running = RunningStack(parts)
        self.name = f"sglang {parts.plan.name}"
        self.plan = parts.plan
        self.pace = pace
        self.stages = STAGES
        self.url = running.url
        self.model = SERVED_NAME
        self.deterministic = False  # its kernels round differently from batch to batch
        self.nodes = parts.nodes
        self.guards = guards(parts.plan)
        self.clients = parts.clients
        self.signals = parts.signals
        self.resources = parts.resources
        self.links = running.links
        self.observe = running.observe
        self.ready, self.kill, self.pids = running.ready, running.kill, running.pids
        self.freeze, self.frozen = running.freeze, running.frozen
        self.terminate, self.terminated = running.terminate, running.terminated
        self.limit_descriptors = running.limit_descriptors
        self.descriptor_room = running.descriptor_room
        self.unlimit_descriptors = running.unlimit_descriptors

    def attachments(self) -> Mapping[str, str]:
        """The plan, each node's log, and what each server was told, redacted."""
        texts = self._running.attachments()
        for name, process in self._parts.processes.items():
            program = process.program
            assert isinstance(program, SglangProgram | RouterProgram)
            told = shown(program.environment)
            texts[f"{name}.env"] = "\n".join(f"{key}={value}" for key, value in told.items())
        return texts

    def restart(self, node: str, timeout_s: float) -> None:
        """It answers again when the router has it back, too."""
        deadline_s = time.monotonic() + timeout_s
        self._running.restart(node, timeout_s)
        self._await_routed(deadline_s)

    def thaw(self, node: str, part: str, how: str) -> None:
        self._running.thaw(node, part, how)
        self._await_routed(time.monotonic() + self._parts.back_max_s)

    @contextmanager
    def retune(
        self, node: str, environment: Mapping[str, str], timeout_s: float
    ) -> Generator[Proof]:
        process = self._running.process(node)
        original = process.program
        self._parts.frost.thaw_node(node)
        try:
            yield self._tuned(process, environment, timeout_s)
        finally:
            deadline_s = time.monotonic() + timeout_s
            process.restart(timeout_s, original)
            self._await_routed(deadline_s)

    def _tuned(
        self, process: NodeProcess, environment: Mapping[str, str], timeout_s: float
    ) -> Proof:
        program = process.program
        if not isinstance(program, SglangProgram):
            raise ValueError(f"{process.name} has no knobs here: only servers have")  # noqa: TRY004 - a name
        try:
            process.restart(timeout_s, program.with_environment(environment))
        except NodeFailed as failure:
            if not failure.own_doing:
                raise
            return RefusedProof(process.name, failure.exit_code, str(failure))
        started = process.process
        return ToldProof(process.name, lambda: process.process == started, environment)

    def _await_routed(self, deadline_s: float) -> None:
        """Until the router's health check has seen every server that nobody holds down.

        Bounded, and no error: what is not routed to is for the recovery probe to tell.
        """
        router = self._running.process("router")
        program, running = router.program, router.process
        others = [one for one in self._parts.processes.values() if one is not router]
        if not isinstance(program, RouterProgram) or running is None:
            return
        if any(one.held or self._parts.frost.has(one.name) for one in others):
            return
        while time.monotonic() < deadline_s and not program.ready(running):
            time.sleep(_LOOK_S)
