"""The default mix of strikes: 40 % client, 25 % link, 20 % failpoint, 10 % kill, 5 % freeze.

Guards act within half a second here, so a turn that needs one has a little more room than that.
"""

from __future__ import annotations

from typing import Final

from chaos.seed import source
from chaos.stage import Stage
from ci.benches.timeline import Make, Pair, Turn
from faults.client import Disconnect, SlowReader
from faults.failpoint import DropDoneSignal, DropMetadata, LegError, StallWriter
from faults.network import Blackhole, Latency, Refuse, Reset, Stall
from faults.process import Freeze, Kill
from stack.guard_settings import HEARTBEAT, HEARTBEAT_MISSES
from stack.plan import Plan, Topology

STALL_BYTES: Final = 4096
LONG: Final = 150  # tokens: longer than it takes to strike
# Seconds of each guard: 0.3 to 0.5, with the factors that they have (two misses and one; 1.5).
FAST: Final = Plan(
    topology=Topology(2, 2),
    knobs={
        "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "0.3",
        "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "0.4",
        "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "0.5",
        HEARTBEAT: "0.15",
        HEARTBEAT_MISSES: "2",
        "PDCHAOS_ABORT_DRAIN_TIMEOUT": "0.3",
        "PDCHAOS_STEP_TIMEOUT": "0.33",
        "PDCHAOS_STREAM_IDLE_TIMEOUT": "0.5",
    },
)


def leaves(stage: Stage) -> Make:
    """The client goes when its request enters this stage."""

    def make(_pair: Pair, victim: str) -> Turn:
        return Turn(Disconnect(victim), 0.05, 0.15, LONG, 0.0, stage)

    return make


def dawdles(_pair: Pair, victim: str) -> Turn:
    return Turn(SlowReader(victim), 0.12, 0.25, LONG, 0.0, Stage.STREAM)


def kv_blackholed(pair: Pair, _victim: str) -> Turn:
    return Turn(Blackhole(f"{pair.prefill}->{pair.decode}/kv"), 0.45, 0.55)


def control_stalled(pair: Pair, _victim: str) -> Turn:
    return Turn(Stall(f"{pair.decode}->{pair.prefill}/bootstrap"), 0.5, 0.6)


def prefill_refuses(pair: Pair, _victim: str) -> Turn:
    return Turn(Refuse(f"router->{pair.prefill}"), 0.15, 0.3)


def decode_is_far(pair: Pair, _victim: str) -> Turn:
    return Turn(Latency(f"router->{pair.decode}", 0.1), 0.25, 0.4)


def decode_link_resets(pair: Pair, _victim: str) -> Turn:
    return Turn(Reset(f"router->{pair.decode}"), 0.12, 0.3, LONG, 0.0, Stage.STREAM)


def leg_fails(pair: Pair, victim: str) -> Turn:
    return Turn(LegError(pair.prefill, victim), 0.15, 0.3)


def done_is_lost(pair: Pair, victim: str) -> Turn:
    return Turn(DropDoneSignal(pair.prefill, victim), 0.42, 0.5)


def writer_stalls(pair: Pair, victim: str) -> Turn:
    return Turn(StallWriter(pair.prefill, STALL_BYTES, victim), 0.42, 0.5)


def metadata_is_lost(pair: Pair, victim: str) -> Turn:
    return Turn(DropMetadata(pair.decode, victim), 0.5, 0.6)


def decode_is_killed(pair: Pair, _victim: str) -> Turn:
    return Turn(Kill(pair.decode), 0.1, 0.5, LONG, 0.0, Stage.DECODE)


def prefill_is_killed(pair: Pair, _victim: str) -> Turn:
    return Turn(Kill(pair.prefill), 0.15, 0.5, due_s=0.1)


def decode_is_frozen(pair: Pair, _victim: str) -> Turn:
    return Turn(Freeze(pair.decode, part="engine"), 0.6, 1.1, LONG, 0.0, Stage.DECODE)


CLIENT: Final = (
    *(leaves(stage) for stage in (Stage.INTAKE, Stage.PREFILL, Stage.DECODE)),
    *(leaves(stage) for stage in (Stage.STREAM, Stage.STREAM, Stage.BOOTSTRAP)),
    dawdles,
    dawdles,
)
LINK: Final = (kv_blackholed, control_stalled, prefill_refuses, decode_is_far, decode_link_resets)
FAILPOINT: Final = (leg_fails, done_is_lost, writer_stalls, metadata_is_lost)
KILL: Final = (decode_is_killed, prefill_is_killed)
FREEZE: Final = (decode_is_frozen,)
MIX: Final[tuple[Make, ...]] = (*CLIENT, *LINK, *FAILPOINT, *KILL, *FREEZE)


def shuffled(variant: int) -> list[Make]:
    """The mix in an order that the variant decides."""
    order = list(MIX)
    source(variant, "bench/mix").shuffle(order)
    return order
