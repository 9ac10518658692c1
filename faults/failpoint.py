"""A named place in a node's code at which one request, or each, is hurt on purpose."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Final

from chaos.contracts import Armable, Proof, Stack
from chaos.failpoint import Failpoint
from chaos.stage import FaultKind, Stage
from chaos.trap import Spring
from faults.victim import choose

# The site at which a request enters each stage: there it can be held.
SITES: Final = {
    Stage.INTAKE: "intake.enter",
    Stage.BOOTSTRAP: "bootstrap.enter",
    Stage.PREFILL: "prefill.chunk",
    Stage.TRANSFER: "transfer.page",
    Stage.HANDOVER: "transfer.done",
    Stage.ADMIT: "admit.enter",
    Stage.DECODE: "decode.token",
    Stage.STREAM: "stream.chunk",
    Stage.ENDING: "ending.finish",
    Stage.CLEANUP: "cleanup.abort",
    Stage.OBSERVERS: "health.answer",
}
_STAGES: Final = {
    **{site: stage for stage, site in SITES.items()},
    "bootstrap.metadata": Stage.BOOTSTRAP,
    "prefill.step": Stage.PREFILL,
    "handover.ack": Stage.HANDOVER,
    "decode.step": Stage.DECODE,
    "leg.answer": Stage.INTAKE,
}
_KINDS: Final = {
    "hold": FaultKind.LATE,
    "delay": FaultKind.LATE,
    "stop_after": FaultKind.LATE,
    "drop": FaultKind.LOST,
    "error": FaultKind.DISAGREE,
    "crash": FaultKind.KILLED,
}


@dataclass(frozen=True, slots=True)
class Arm:
    """Arm any failpoint of a node. The proof is the number of passes on which it acted."""

    node: str  # "prefill-0", or a role: then the seed chooses
    failpoint: Failpoint
    title: str = ""
    at: Stage | None = None  # for the map; by default the site's own stage
    needs: type = field(default=Armable, init=False)

    @property
    def name(self) -> str:
        return self.title or f"{self.failpoint.action} {self.failpoint.site} on {self.node}"

    @property
    def stage(self) -> Stage:
        return self.at or _STAGES.get(self.failpoint.site, Stage.LIFECYCLE)

    @property
    def kind(self) -> FaultKind:
        return _KINDS.get(self.failpoint.action, FaultKind.SWALLOWED)

    @contextmanager
    def lay(self, stack: Stack, rng: Random) -> Generator[Spring]:
        assert isinstance(stack, Armable)
        if self.failpoint.site not in stack.failpoint_sites:
            known = ", ".join(stack.failpoint_sites)
            raise ValueError(f"no failpoint {self.failpoint.site!r} here; there are: {known}")
        with stack.arm(choose(stack, self.node, rng), self.failpoint) as proof:
            yield lambda: nullcontext(proof)

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        with self.lay(stack, rng) as spring, spring() as proof:
            yield proof


@dataclass(frozen=True, slots=True)
class SlowTokens:
    """Every token of every request on a decode comes `each_s` late: all of them go on."""

    node: str  # "decode-0", or a role: then the seed chooses
    each_s: float
    stage: Stage = Stage.DECODE
    kind: FaultKind = field(default=FaultKind.LATE, init=False)
    needs: type = field(default=Armable, init=False)
    alive: bool = field(default=True, init=False)  # whoever ends a request meanwhile is wrong

    def __post_init__(self) -> None:
        if self.each_s <= 0:
            raise ValueError(f"each_s: expected more than 0, not {self.each_s}")

    @property
    def name(self) -> str:
        return f"tokens {self.each_s:g} s late on {self.node}"

    def lay(self, stack: Stack, rng: Random) -> AbstractContextManager[Spring]:
        return self._armed().lay(stack, rng)

    def inject(self, stack: Stack, rng: Random) -> AbstractContextManager[Proof]:
        return self._armed().inject(stack, rng)

    def _armed(self) -> Arm:
        return Arm(self.node, Failpoint("decode.token", "delay", delay_s=self.each_s))


def StallWriter(node: str, after_bytes: int, request: str | None = None) -> Arm:  # noqa: N802 - reads as a fault
    """The KV writer stops for good after exactly this many bytes of a request's transfer."""
    failpoint = Failpoint("transfer.page", "stop_after", request, after_bytes=after_bytes)
    return Arm(node, failpoint, f"stall writer of {node} after {after_bytes} bytes")


def HoldStage(node: str, stage: Stage, request: str | None = None) -> Arm:  # noqa: N802 - as above
    """A request does not get past the door of this stage while inside."""
    if stage not in SITES:
        known = ", ".join(sorted(one.value for one in SITES))
        raise ValueError(f"no request can be held at {stage.value}; expected one of {known}")
    return Arm(node, Failpoint(SITES[stage], "hold", request), f"hold {stage.value} on {node}")


def LegError(node: str, request: str | None = None) -> Arm:  # noqa: N802 - as above
    """This node's leg of a request answers with an error; the other leg knows nothing of it."""
    return Arm(node, Failpoint("leg.answer", "error", request), f"leg error on {node}")


def DropDoneSignal(node: str, request: str | None = None) -> Arm:  # noqa: N802 - as above
    """All KV bytes arrive, and nobody says so."""
    return Arm(node, Failpoint("transfer.done", "drop", request), f"drop done signal of {node}")


def DropMetadata(node: str, request: str | None = None) -> Arm:  # noqa: N802 - as above
    """The decode's page list never reaches the prefill."""
    failpoint = Failpoint("bootstrap.metadata", "drop", request)
    return Arm(node, failpoint, f"drop metadata to {node}")


def Crash(node: str, site: str, request: str | None = None) -> Arm:  # noqa: N802 - as above
    """The process that passes this site kills itself, once."""
    return Arm(node, Failpoint(site, "crash", request, times=1), f"crash {node} at {site}")
