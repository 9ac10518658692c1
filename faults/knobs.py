"""A node, or every node of a role, started with a setting that is wrong."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

from chaos.contracts import Evidence, Proof, Stack, Tunable
from chaos.event import Json
from chaos.stage import FaultKind, Stage
from faults.victim import of_role, restart_s

RESTART_S: Final = 4.5  # below the five seconds that an experiment grants for healing


@dataclass(frozen=True, slots=True)
class BadKnob:
    """Restart with this environment on top of the plan's; healed by the plan's alone.

    A node that refuses to start has taken the fault as well: the proof is its exit code.
    """

    node: str  # "decode-0", or a role: then every node of it, as one launch script would do
    environment: Mapping[str, str]
    stage: Stage = Stage.LIFECYCLE
    restart_s: float = RESTART_S
    kind: FaultKind = field(default=FaultKind.BAD_KNOB, init=False)
    needs: type = field(default=Tunable, init=False)
    restarts: int = field(default=2, init=False)  # with the knob, and without it again

    def __post_init__(self) -> None:
        if not self.environment:
            raise ValueError("environment: a bad knob needs at least one variable")

    @property
    def name(self) -> str:
        knobs = " ".join(f"{name}={value}" for name, value in sorted(self.environment.items()))
        return f"{knobs} on {self.node}"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Tunable)
        within_s = restart_s(stack, self.restart_s)
        nodes = of_role(stack, self.node)
        with ExitStack() as undo:
            proofs = [
                undo.enter_context(stack.retune(node, self.environment, within_s)) for node in nodes
            ]
            yield _All(tuple(nodes), tuple(proofs))


@dataclass(frozen=True, slots=True)
class _All:
    """Every node has the setting, or refused it. `nodes` names them: each was restarted by us."""

    nodes: tuple[str, ...]
    proofs: tuple[Proof, ...]

    def read(self) -> Evidence:
        seen = [proof.read() for proof in self.proofs]
        detail: dict[str, Json] = {"nodes": ", ".join(self.nodes)}
        for evidence in seen:
            node = evidence.detail.get("node", "node")
            for key, value in evidence.detail.items():
                detail[f"{node}.{key}"] = value
        return Evidence(all(evidence.bit for evidence in seen), detail)
