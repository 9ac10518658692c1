"""One leg of a request fails while the other one waits for it."""

from __future__ import annotations

import pytest

from chaos.experiment import Streaming, Strike
from chaos.play import Play
from chaos.specification import Budgets
from chaos.verdict import CAUGHT
from chaos.workloads.burst import Burst
from chaos.workloads.lone import Lone
from chaos.workloads.steady import Steady
from faults.failpoint import LegError
from faults.network import Latency, Refuse, Reset, Stall

LOAD = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=16)
LONG = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=400)


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.intake
@pytest.mark.leg_error
def test_prefill_answers_500_while_decode_waits(play: Play) -> None:
    play(LOAD, [Strike(LegError("prefill-0", "r1"))], allowed=[CAUGHT])


@pytest.mark.intake
@pytest.mark.leg_error
def test_decode_answers_500_while_prefill_waits(play: Play) -> None:
    play(LOAD, [Strike(LegError("decode-0", "r1"))], allowed=[CAUGHT])


@pytest.mark.quick
@pytest.mark.dispatch
@pytest.mark.refuse
def test_prefill_refuses_the_router(play: Play) -> None:
    play(
        # Sent when it refuses already: a leg that is cut on its way is sent again.
        Burst(requests=4, due_s=0.3),
        [Strike(Refuse("router->prefill-0"))],
        allowed=[CAUGHT],
    )


@pytest.mark.dispatch
@pytest.mark.reset
def test_decode_link_reset_in_mid_stream(play: Play) -> None:
    play(
        # So long that it still streams when a busy machine comes to the strike.
        Lone("r1", tokens=2000),
        [Strike(Reset("router->decode-0"), on=Streaming("r1"))],
        allowed=[CAUGHT],
    )


@pytest.mark.dispatch
@pytest.mark.reset
def test_decode_link_reset_before_its_first_byte(play: Play) -> None:
    play(
        Lone("r1"),
        [Strike(Reset("router->decode-0"))],
        allowed=[CAUGHT],
        # smg sends the leg once more and lets go of it: it waits in decode for its own time-out,
        # and then its pages for their writer's.
        budgets=Budgets(recover_s=10.0),
    )


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.stream
@pytest.mark.stall
def test_decode_link_pauses_and_heals(play: Play) -> None:
    play(
        LONG,
        [Strike(Stall("router->decode-0"), on=Streaming("r1"), for_s=1.0)],
        budgets=Budgets(service_s=4.0),
    )


@pytest.mark.client
@pytest.mark.latency
def test_a_slow_client_link_is_no_hang(play: Play) -> None:
    play(
        LOAD,
        [Strike(Latency("client->router", latency_s=0.2))],
        budgets=Budgets(service_s=3.0),
    )
