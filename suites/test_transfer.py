"""The KV transfer, hurt on its way from prefill to decode."""

from __future__ import annotations

import pytest

from chaos.experiment import Entering, Strike
from chaos.play import Play
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.verdict import CAUGHT
from chaos.workloads.steady import Steady
from faults.failpoint import DropDoneSignal, StallWriter
from faults.network import Bandwidth, Blackhole, CutAfter, Latency, Stall

KV = "prefill-0->decode-0/kv"
# So far apart that some of them meet a strike that a busy machine makes late.
LOAD = Steady(requests=4, every_s=0.3, prompt_bytes=160, tokens=16)


@pytest.mark.soak
@pytest.mark.transfer
@pytest.mark.blackhole
def test_kv_transfer_blackholed_from_the_start(play: Play) -> None:
    play(LOAD, [Strike(Blackhole(KV))], allowed=[CAUGHT])


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.transfer
@pytest.mark.stall
def test_kv_transfer_stalled_in_the_middle(play: Play) -> None:
    play(
        LOAD,
        [Strike(StallWriter("prefill-0", after_bytes=20_000))],
        allowed=[CAUGHT],
    )


@pytest.mark.handover
@pytest.mark.drop
def test_kv_transfer_stalled_at_the_done_signal(play: Play) -> None:
    play(
        LOAD,
        [Strike(DropDoneSignal("prefill-0"))],
        allowed=[CAUGHT],
    )


@pytest.mark.soak
@pytest.mark.transfer
@pytest.mark.bandwidth
def test_a_slow_kv_link_is_no_hang(play: Play) -> None:
    play(
        Steady(requests=2, every_s=1.0, prompt_bytes=160, tokens=16),
        # Some four seconds a request: longer than any guard waits for a transfer without progress.
        [Strike(Bandwidth(KV, kb_s=32), for_s=12.0)],
        budgets=Budgets(service_s=10.0, settle_s=12.0, converge_s=12.0),
    )


@pytest.mark.transfer
@pytest.mark.latency
def test_a_late_kv_link_is_no_hang(play: Play) -> None:
    play(LOAD, [Strike(Latency(KV, latency_s=0.2))], budgets=Budgets(service_s=3.0))


@pytest.mark.transfer
@pytest.mark.cut
def test_kv_link_cut_after_some_pages(play: Play) -> None:
    play(LOAD, [Strike(CutAfter(KV, n_bytes=20_000))], allowed=[CAUGHT])


@pytest.mark.transfer
@pytest.mark.stall
def test_a_short_pause_of_the_kv_link_is_no_hang(play: Play) -> None:
    play(
        LOAD,
        [Strike(Stall(KV), on=Entering("r1", Stage.BOOTSTRAP), for_s=0.5)],
        budgets=Budgets(service_s=3.0),
    )
