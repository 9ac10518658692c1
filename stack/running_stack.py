"""What every stack of ours has in common: processes behind links, seen, killed, frozen, bent."""

from __future__ import annotations

import signal
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

from chaos.contracts import Link, Listener, Node, Probe
from chaos.event import Json
from stack.clients import Clients
from stack.descriptor_limits import DescriptorLimits
from stack.frost import Frost
from stack.links import Switchboard
from stack.log_tail import last_lines
from stack.node_process import NodeFailed, NodeProcess
from stack.plan import Plan
from stack.process_table import ProcessId, wait_all_exit
from stack.starvation import watching
from stack.terminations import Terminations
from stack.trace_sink import TraceSink

KILL_MAX_S: Final = 2.0
_ATTACHED_LINES: Final = 200


class Anatomy(Protocol):
    """How the processes of one engine's worker are told apart."""

    def named(self, alive: Sequence[ProcessId]) -> Mapping[str, ProcessId]:
        """Each living process, parents first, under the name of its part."""
        ...

    def engine(self, alive: Sequence[ProcessId]) -> Sequence[ProcessId]:
        """Those that schedule and compute, without the front that answers HTTP."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a driver has started and will end."""

    plan: Plan
    board: Switchboard
    sink: TraceSink
    frost: Frost
    clients: Clients
    client_port: int
    nodes: Sequence[Node]  # router first
    processes: Mapping[str, NodeProcess]
    anatomy: Anatomy
    back_max_s: float  # a thawed node should answer again this soon
    signals: Sequence[Probe]
    resources: Sequence[Probe]


class RunningStack:
    """Implements Stack's observations, and Killable, Freezable, Linked and faults.limits'
    Limitable, for every engine."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._descriptors = DescriptorLimits()
        self._terminations = Terminations()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._parts.client_port}"

    @property
    def links(self) -> Mapping[str, Link]:
        return self._parts.board.links

    def ready(self) -> bool:
        """The router lists only the workers that its own health checks have found well."""
        nodes = [(node.program, node.process) for node in self._parts.processes.values()]
        return all(process and program.ready(process) for program, process in nodes)

    @contextmanager
    def observe(self, listener: Listener) -> Generator[None]:
        """The nodes' marks, and a LAG mark where one of them waited for a core."""
        processes = {
            node: lambda process=process: process.tree()
            for node, process in self._parts.processes.items()
        }
        with self._parts.sink.observe(listener), watching(processes, listener):
            yield

    def attachments(self) -> dict[str, str]:
        """The plan and each node's log."""
        texts = {"plan": str(self._parts.plan)}
        for name, process in self._parts.processes.items():
            texts[f"{name}.log"] = last_lines(process.log, _ATTACHED_LINES)
        return texts

    def kill(self, node: str, part: str = "whole") -> Mapping[str, Json]:
        """SIGKILL all of a node, or its engine alone: what is left of it then is its own affair.

        Either way it is not replaced before somebody says so.
        """
        before = self.pids(node)
        self._parts.frost.thaw_node(node)
        process = self.process(node)
        died = process.kill() if part == "whole" else self._kill_part(process, part)
        return {**before, "died": " ".join(str(one.pid) for one in died)}

    def terminate(self, node: str) -> Mapping[str, Json]:
        """SIGTERM to its first process, and what is then seen of that one; it is not replaced."""
        url = next((one.url for one in self._parts.nodes if one.name == node), "")
        return self._terminations.terminate(self.process(node), url)

    def terminated(self, node: str) -> Mapping[str, Json]:
        """What is seen now of the process that was told to go."""
        return self._terminations.state(node)

    def restart(self, node: str, timeout_s: float) -> None:
        self._parts.frost.thaw_node(node)
        self.process(node).restart(timeout_s)

    def pids(self, node: str) -> Mapping[str, Json]:
        alive = self.process(node).tree()
        if node == "router":
            return {"router" if not i else f"child-{i - 1}": one.pid for i, one in enumerate(alive)}
        return {name: one.pid for name, one in self._parts.anatomy.named(alive).items()}

    def freeze(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        return self._parts.frost.freeze(node, part, how, self._part(node, part))

    def frozen(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        return self._parts.frost.state(node, part, how)

    def thaw(self, node: str, part: str, how: str) -> None:
        self._parts.frost.thaw(node, part, how)
        self.await_back(self.process(node))

    def limit_descriptors(self, node: str, part: str) -> None:
        self._descriptors.limit(node, part, self._part(node, part))

    def descriptor_room(self, node: str, part: str) -> Mapping[str, Json]:
        return self._descriptors.room(node, part)

    def unlimit_descriptors(self, node: str, part: str) -> None:
        """One that died of it is replaced: healed when that one answers."""
        self._descriptors.lift(node, part)
        self.await_back(self.process(node))

    def process(self, node: str) -> NodeProcess:
        """ValueError: there is no such node."""
        if node not in self._parts.processes:
            known = ", ".join(self._parts.processes)
            raise ValueError(f"no node {node!r} here; there are: {known}")
        return self._parts.processes[node]

    def await_back(self, process: NodeProcess) -> None:
        """A node that died of a fault is replaced in place: healing ends when it answers.

        Not when another fault still has it; and one that never answers is for the recovery
        probe to tell, not an error of the undoing.
        """
        if not process.held and not self._parts.frost.has(process.name):
            with suppress(NodeFailed):
                process.await_ready(self._parts.back_max_s)

    def _kill_part(self, process: NodeProcess, part: str) -> Sequence[ProcessId]:
        victims = self._part(process.name, part)
        process.hold()
        for victim in victims:
            victim.signal(signal.SIGKILL)
        left = wait_all_exit(victims, KILL_MAX_S)
        if left:
            raise NodeFailed(f"{process.name}: pid {[one.pid for one in left]} survived SIGKILL")
        return victims

    def _part(self, node: str, part: str) -> list[ProcessId]:
        alive = self.process(node).tree()
        if part == "whole":
            return alive
        if part != "engine" or node == "router":
            raise ValueError(f"part of {node}: expected 'whole' or a worker's 'engine': {part!r}")
        return list(self._parts.anatomy.engine(alive))
