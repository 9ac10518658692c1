"""Whole workers and their engines: killed, crashed, frozen, told to go, replaced."""

from __future__ import annotations

import pytest

from chaos.experiment import Entering, Streaming, Strike
from chaos.play import Play
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.verdict import CAUGHT, SURFACED, TOLERATED
from chaos.workloads.burst import Burst
from chaos.workloads.lone import Lone
from chaos.workloads.steady import Steady
from chaos.workloads.together import Together
from faults.failpoint import Crash
from faults.held import Held
from faults.network import Bandwidth
from faults.process import Freeze, Kill, Restart, Terminate

LOAD = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=16)
# So long that they still stream when a busy machine comes to the strike.
LONG = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=800)
# What runs is finished while a node drains, and that takes its time.
DRAINING = Budgets(service_s=6.0, delay_s=6.0, settle_s=8.0, converge_s=10.0)


@pytest.mark.transfer
@pytest.mark.kill
def test_prefill_killed_in_a_transfer_and_replaced_on_its_address(play: Play) -> None:
    play(
        Together((LOAD, Lone("victim"))),
        [Strike(Held("prefill-0", "transfer.page", "victim", Kill("prefill-0"), Stage.TRANSFER))],
        allowed=[CAUGHT],
    )


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.stream
@pytest.mark.kill
def test_decode_killed_in_mid_stream(play: Play) -> None:
    play(
        LONG,
        [Strike(Kill("decode-0"), on=Streaming("r3"))],
        allowed=[CAUGHT],
    )


@pytest.mark.quick
@pytest.mark.stream
@pytest.mark.kill
def test_decode_engine_killed_in_mid_stream(play: Play) -> None:
    play(
        LONG,
        [Strike(Kill("decode-0", part="engine"), on=Streaming("r3"))],
        allowed=[CAUGHT],
    )


@pytest.mark.decode
@pytest.mark.crash
def test_decode_engine_crashes_in_a_step(play: Play) -> None:
    play(
        LONG,
        [Strike(Crash("decode-0", "decode.step"), on=Streaming("r3"))],
        allowed=[CAUGHT],
    )


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.decode
@pytest.mark.freeze
def test_decode_engine_frozen_while_http_answers(play: Play) -> None:
    play(
        LONG,
        [Strike(Freeze("decode-0", part="engine"), on=Streaming("r3"))],
        allowed=[CAUGHT],
    )


@pytest.mark.quick
@pytest.mark.prefill
@pytest.mark.freeze
def test_prefill_engine_frozen_while_http_answers(play: Play) -> None:
    play(
        LOAD,
        [Strike(Freeze("prefill-0", part="engine"))],
        allowed=[CAUGHT],
    )


@pytest.mark.quick
@pytest.mark.prefill
@pytest.mark.freeze
def test_a_short_pause_of_the_prefill_engine_is_no_hang(play: Play) -> None:
    play(
        LOAD,
        [Strike(Freeze("prefill-0", part="engine"), for_s=0.5)],
        budgets=Budgets(service_s=3.0),
    )


@pytest.mark.decode
@pytest.mark.freeze
def test_whole_decode_worker_frozen(play: Play) -> None:
    # Nothing ends a request on a wholly frozen decode worker: both routers wait for it.
    play(
        LONG,
        [Strike(Freeze("decode-0", part="whole"), on=Entering("r1", Stage.DECODE))],
        allowed=[SURFACED],
    )


@pytest.mark.observers
@pytest.mark.freeze
def test_whole_decode_worker_frozen_by_its_cgroup(play: Play) -> None:
    play(
        LONG,
        [Strike(Freeze("decode-0", part="whole", how="cgroup"), on=Entering("r1", Stage.DECODE))],
        allowed=[SURFACED],
    )


@pytest.mark.prefill
@pytest.mark.freeze
def test_whole_prefill_worker_frozen(play: Play) -> None:
    play(
        # Sent when it is frozen already: a reply whose KV has arrived waits for it in the router.
        Burst(requests=4, due_s=0.3),
        [Strike(Freeze("prefill-0", part="whole"))],
        allowed=[CAUGHT],
    )


@pytest.mark.lifecycle
@pytest.mark.restart
def test_an_idle_prefill_replaced_between_requests(play: Play) -> None:
    play(
        Lone("late", due_s=4.0),
        [Strike(Restart("prefill-0"), for_s=3.0)],
        budgets=Budgets(service_s=2.0),
    )


@pytest.mark.transfer
@pytest.mark.terminate
def test_a_prefill_that_is_told_to_go_hands_its_pages_over(play: Play) -> None:
    # A link of 64 KB/s: the pages are on their way for some two seconds.
    play(
        Lone("victim", due_s=0.4, prompt_bytes=200),
        [
            Strike(Bandwidth("prefill-0->decode-0/kv", kb_s=64), for_s=8.0),
            Strike(Terminate("prefill-0"), on=Entering("victim", Stage.TRANSFER), for_s=4.0),
        ],
        budgets=DRAINING,
    )


@pytest.mark.stream
@pytest.mark.terminate
def test_a_decode_that_is_told_to_go_ends_its_streams(play: Play) -> None:
    # Those that run are ended in full. Those that come while it drains are refused by it at once;
    # sglang-router waits for prefill before it says so.
    play(
        Steady(requests=5, every_s=0.3, prompt_bytes=160, tokens=1200),
        [Strike(Terminate("decode-0"), on=Entering("r1", Stage.STREAM), for_s=6.0)],
        allowed=[CAUGHT],
        budgets=DRAINING,
    )


@pytest.mark.stack(topology="1p2d", attempts=3)
@pytest.mark.lifecycle
@pytest.mark.terminate
def test_one_decode_of_two_is_told_to_go_and_the_other_one_takes_over(play: Play) -> None:
    play(
        Steady(requests=8, every_s=0.3, prompt_bytes=160, tokens=100),
        [Strike(Terminate("decode-0"), on=Entering("r1", Stage.STREAM), for_s=4.0)],
        # sglang-router waits for prefill after decode has refused its half, and tries again then.
        allowed=[TOLERATED, CAUGHT],
        budgets=DRAINING,
    )
