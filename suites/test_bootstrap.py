"""The handshake between decode and prefill, hurt before any KV moves."""

from __future__ import annotations

import pytest

from chaos.experiment import Strike
from chaos.play import Play
from chaos.verdict import caught_by
from chaos.workloads.steady import Steady
from faults.failpoint import DropMetadata
from faults.network import Blackhole, Refuse, Reset, Stall

CONTROL = "decode-0->prefill-0/bootstrap"
# Both ends listen for each other's heartbeat; whichever counts its misses first ends a request.
EITHER_END = (caught_by("heartbeat_to_prefill"), caught_by("heartbeat_to_decode"))
# Long enough for heartbeats to be missed, also where nobody else uses this link in between.
SPANNING = Steady(requests=6, every_s=1.0, prompt_bytes=160, tokens=16)
LOAD = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=16)


@pytest.mark.quick
@pytest.mark.bootstrap
@pytest.mark.blackhole
@pytest.mark.known_bug(
    stack="sglang",
    verdict="SURFACED",
    by="prefill_bootstrap_pinned",
    what="prefill times out and tells nobody: decode waits for its own timeout, from the heal on",
)
def test_bootstrap_link_blackholed_and_healed(play: Play) -> None:
    play(
        SPANNING,
        [Strike(Blackhole(CONTROL))],
        allowed=EITHER_END,
    )


@pytest.mark.soak
@pytest.mark.bootstrap
@pytest.mark.stall
def test_bootstrap_link_paused_for_too_long(play: Play) -> None:
    play(
        LOAD,
        [Strike(Stall(CONTROL))],
        allowed=EITHER_END,
    )


@pytest.mark.bootstrap
@pytest.mark.reset
def test_bootstrap_link_reset(play: Play) -> None:
    play(LOAD, [Strike(Reset(CONTROL))], allowed=EITHER_END)


@pytest.mark.bootstrap
@pytest.mark.refuse
def test_bootstrap_link_refused(play: Play) -> None:
    play(
        LOAD,
        [Strike(Refuse(CONTROL))],
        allowed=EITHER_END,
    )


@pytest.mark.soak
@pytest.mark.bootstrap
@pytest.mark.drop
def test_metadata_lost_on_its_way_to_prefill(play: Play) -> None:
    # Prefill waits for the metadata (3.3 s), decode for the KV that cannot come without it (4.4 s).
    play(LOAD, [Strike(DropMetadata("decode-0", "r1"))], allowed=[caught_by("bootstrap_timeout")])
