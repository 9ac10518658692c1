"""The handshake between decode and prefill, hurt before any KV moves."""

from __future__ import annotations

import pytest

from chaos.experiment import Strike
from chaos.play import Play
from chaos.verdict import CAUGHT
from chaos.workloads.steady import Steady
from faults.failpoint import DropMetadata
from faults.network import Blackhole, Refuse, Reset, Stall

CONTROL = "decode-0->prefill-0/bootstrap"
# Long enough for heartbeats to be missed, also where nobody else uses this link in between.
SPANNING = Steady(requests=6, every_s=1.0, prompt_bytes=160, tokens=16)
LOAD = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=16)


@pytest.mark.quick
@pytest.mark.bootstrap
@pytest.mark.blackhole
def test_bootstrap_link_blackholed_and_healed(play: Play) -> None:
    play(
        SPANNING,
        [Strike(Blackhole(CONTROL))],
        allowed=[CAUGHT],
    )


@pytest.mark.soak
@pytest.mark.bootstrap
@pytest.mark.stall
def test_bootstrap_link_paused_for_too_long(play: Play) -> None:
    play(
        LOAD,
        [Strike(Stall(CONTROL))],
        allowed=[CAUGHT],
    )


@pytest.mark.bootstrap
@pytest.mark.reset
def test_bootstrap_link_reset(play: Play) -> None:
    play(LOAD, [Strike(Reset(CONTROL))], allowed=[CAUGHT])


@pytest.mark.bootstrap
@pytest.mark.refuse
def test_bootstrap_link_refused(play: Play) -> None:
    play(
        LOAD,
        [Strike(Refuse(CONTROL))],
        allowed=[CAUGHT],
    )


@pytest.mark.soak
@pytest.mark.bootstrap
@pytest.mark.drop
def test_metadata_lost_on_its_way_to_prefill(play: Play) -> None:
    # Prefill waits for the metadata (3.3 s), decode for the KV that cannot come without it (4.4 s).
    play(LOAD, [Strike(DropMetadata("decode-0", "r1"))], allowed=[CAUGHT])
