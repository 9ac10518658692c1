"""Clients that leave, leak, dawdle or half-close."""

from __future__ import annotations

import pytest

from chaos.experiment import Entering, Streaming, Strike
from chaos.play import Play
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.verdict import CAUGHT, TOLERATED
from chaos.workloads.lone import Lone
from chaos.workloads.steady import Steady
from chaos.workloads.together import Together
from faults.client import Disconnect, EatenPool, HalfClose, LeakedBodies, SlowReader
from faults.held import Held
from faults.nested import Nested
from faults.network import SlowClose

LOAD = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=16)
# Long enough that a request nobody waits for still holds its pages when the resources are read.
WITH_VICTIM = Together((LOAD, Lone("victim", tokens=5000)))
AT_ONCE = Budgets(recover_s=2.0, converge_s=20.0)
LEAVING = Disconnect("victim")


WINDOWS = (
    ("decode-0", "bootstrap.metadata", Stage.BOOTSTRAP),
    ("prefill-0", "prefill.chunk", Stage.PREFILL),
    ("prefill-0", "transfer.page", Stage.TRANSFER),
    ("decode-0", "admit.enter", Stage.ADMIT),
    ("decode-0", "decode.token", Stage.DECODE),
    ("decode-0", "stream.chunk", Stage.STREAM),
)


@pytest.mark.disconnect
@pytest.mark.parametrize(
    ("node", "site", "stage"),
    [
        pytest.param(*window, id=window[2].value, marks=getattr(pytest.mark, window[2].value))
        for window in WINDOWS
    ],
)
def test_client_disconnects(play: Play, node: str, site: str, stage: Stage) -> None:
    play(
        WITH_VICTIM,
        [Strike(Held(node, site, "victim", LEAVING, stage))],
        allowed=[CAUGHT],
        budgets=AT_ONCE,
    )


# Where an engine says nothing of a client that left, everything must have come back.
EITHER_WAY = (CAUGHT, TOLERATED)


@pytest.mark.quick
@pytest.mark.intake
@pytest.mark.disconnect
def test_client_gone_while_it_waits_for_its_first_token(play: Play) -> None:
    play(
        WITH_VICTIM,
        [Strike(LEAVING, on=Entering("victim", Stage.INTAKE))],
        allowed=EITHER_WAY,
        budgets=AT_ONCE,
    )


@pytest.mark.quick
@pytest.mark.stream
@pytest.mark.disconnect
def test_client_gone_in_mid_stream(play: Play) -> None:
    play(
        WITH_VICTIM,
        [Strike(LEAVING, on=Streaming("victim"))],
        allowed=EITHER_WAY,
        budgets=AT_ONCE,
    )


# 64 requests at once keep one small engine busy for seconds, and more on a busy machine: its timers
# must be as patient, and so must we. Nobody waits for them where all is well.
PATIENT = {
    "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "15",
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "2",
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "16",
}


@pytest.mark.stack(knobs=PATIENT)
@pytest.mark.quick
@pytest.mark.client
@pytest.mark.leaked_bodies
def test_64_leaked_stream_bodies_then_a_probe(play: Play) -> None:
    play(
        Together((LOAD, Lone("probe", due_s=3.0))),
        [Strike(LeakedBodies(count=64, at_byte=200, tokens=32, within_s=12.0))],
        budgets=Budgets(
            service_s=12.0,
            delay_s=12.0,
            settle_s=14.0,
            converge_s=14.0,
            recover_s=14.0,
            heal_s=14.0,
        ),
    )


@pytest.mark.client
@pytest.mark.eaten_pool
def test_a_client_pool_eaten_by_undrained_bodies_blames_nobody_else(play: Play) -> None:
    play(Together((LOAD, Lone("probe", due_s=2.0))), [Strike(EatenPool(pool=2))])


@pytest.mark.stream
@pytest.mark.slow_reader
def test_a_slow_reader_holds_up_nobody(play: Play) -> None:
    play(
        # So long that a busy machine comes to the strike while it streams.
        Together((LOAD, Lone("victim", tokens=2000))),
        [Strike(SlowReader("victim"), on=Streaming("victim"), for_s=1.5)],
        budgets=Budgets(service_s=3.0),
    )


@pytest.mark.client
@pytest.mark.half_close
def test_a_client_that_closes_its_sending_side(play: Play) -> None:
    play(LOAD, [Strike(HalfClose("decode-0"))])


# The goodbye does not get through: the router has let go, and the worker holds a slot and its pages
# for as long as the silence lasts. Neither router speaks to a worker meanwhile, and no guard of the
# engine counts how long nobody has read; one that did would be noticed here.
UNHEARD = Nested(SlowClose("router->decode-0", delay_s=30.0, stream="upstream"), LEAVING)


@pytest.mark.decode
@pytest.mark.disconnect
def test_client_gone_from_a_stream_that_has_gone_silent(play: Play) -> None:
    play(
        Lone("victim", tokens=200),
        [Strike(Held("decode-0", "decode.token", "victim", UNHEARD, Stage.DECODE), for_s=9.0)],
        allowed=EITHER_WAY,
    )
