"""Multi-round agents with growing context: the users whose hang this project was born from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.experiment import Entering, Strike
from chaos.play import Play
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.verdict import CAUGHT
from chaos.workloads.agents import Agents
from faults.failpoint import StallWriter
from faults.process import Freeze, Kill

AGENTS = Agents(agents=3, rounds=5, pause_s=0.05, tokens=24)
SLOW_TRANSFER_GUARDS = {
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "2",
    "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "4",
}
STALL = StallWriter("prefill-0", after_bytes=20_000)


def on_both_decodes(play: Play) -> Agents:
    """a0 and a1 live on decode-0, and a2 on decode-1."""
    keys = play.keys_on(("decode-0", "decode-1"), each=2)
    return replace(AGENTS, keys=(*keys["decode-0"][:2], keys["decode-1"][0]))


@pytest.mark.decode
@pytest.mark.fault_free
def test_agents_of_five_rounds(play: Play) -> None:
    play(AGENTS)


@pytest.mark.soak
@pytest.mark.transfer
@pytest.mark.stall
def test_agents_of_five_rounds_through_a_stalled_transfer(play: Play) -> None:
    play(
        AGENTS,
        # Two tries of an agent are caught in it, and the third goes through; without the watchdog
        # the first one would wait for all of it.
        [Strike(STALL, on=Entering("a1.1", Stage.BOOTSTRAP), for_s=4.8)],
        allowed=[CAUGHT],
        budgets=Budgets(delay_s=4.0, converge_s=20.0),
    )


@pytest.mark.stack(topology="1p2d")
@pytest.mark.observers
@pytest.mark.fault_free
def test_sticky_agents_stay_on_their_workers(play: Play) -> None:
    play(AGENTS)


@pytest.mark.stack(topology="1p2d")
@pytest.mark.observers
@pytest.mark.kill
def test_sticky_agents_when_their_decode_is_killed(play: Play) -> None:
    play(
        on_both_decodes(play),
        [Strike(Kill("decode-0"), on=Entering("a0.1", Stage.DECODE))],
        allowed=[CAUGHT],
        budgets=Budgets(converge_s=20.0),
    )


# Guards of the transfer that are slower than the step watchdog leave the frozen engine to it.
@pytest.mark.stack(topology="1p2d", knobs=SLOW_TRANSFER_GUARDS)
@pytest.mark.observers
@pytest.mark.freeze
def test_sticky_agents_when_their_decode_engine_is_frozen(play: Play) -> None:
    play(
        on_both_decodes(play),
        [Strike(Freeze("decode-0", part="engine"), on=Entering("a0.1", Stage.DECODE))],
        allowed=[CAUGHT],
        budgets=Budgets(converge_s=20.0),
    )
