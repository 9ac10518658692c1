"""Hangs, leaks and wrong answers that others have reported in public, as experiments of ours.

Each names its reports. The causes are the reporters'; what is played here is ours. A collective
that some ranks never enter (sglang#37909) is not among them: an embedded worker has one rank. A
barrier by hand in a launch that is not cooperative (TensorRT-LLM#14376) is the prover's: see
tests/kernels/test_hand_made_barrier.py.
"""

from __future__ import annotations

import pytest

from chaos.experiment import At, Entering, Streaming, Strike
from chaos.failpoint import Failpoint
from chaos.play import Play
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.verdict import CAUGHT, TOLERATED, caught_by
from chaos.workloads.agents import Agents
from chaos.workloads.burst import Burst
from chaos.workloads.lone import Lone
from chaos.workloads.steady import Steady
from chaos.workloads.together import Together
from faults.client import Disconnect
from faults.crowd import Crowd
from faults.failpoint import Arm, DropMetadata, HoldStage, SlowTokens
from faults.held import Held
from faults.knobs import BadKnob
from faults.limits import FewDescriptors
from faults.network import Bandwidth
from faults.process import Freeze

KV = "prefill-0->decode-0/kv"
LOAD = Steady(requests=4, every_s=0.1, prompt_bytes=160, tokens=16)
# So long that they still stream when a busy machine comes to the strike.
LONG = Steady(requests=2, every_s=0.1, prompt_bytes=160, tokens=1000)
# Somebody else streams when a client leaves, and others come before and after.
BESIDE = Together((LOAD, Lone("reader", due_s=0.0, tokens=2000)))
# Pages of 16 tokens: a request of LOAD's size needs twelve.
ROOM_FOR_TWO = {"decode": {"PDCHAOS_KV_PAGES": "24"}}


@pytest.mark.stack(environment=ROOM_FOR_TWO)
@pytest.mark.admit
@pytest.mark.slow_tokens
def test_a_queue_in_decode_is_no_dead_decode(play: Play) -> None:
    """tokenspeed#1427, smg#2463: prefill's timer for its decode counts that decode's queue."""
    play(
        Burst(requests=8, tokens=20),
        # Two at a time, 2.4 s each: the last two wait longer than any timer of ours has.
        [Strike(SlowTokens("decode-0", each_s=0.12), for_s=14.0)],
        budgets=Budgets(service_s=12.0, delay_s=12.0, settle_s=14.0, converge_s=16.0),
    )


# The slack is for a decode that waits for its own time-out after it was held.
@pytest.mark.stack(knobs={"SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "2"}, slack_s=3.0)
@pytest.mark.intake
@pytest.mark.stall
def test_a_decode_that_comes_after_prefill_gave_up_is_told_so(play: Play) -> None:
    """tokenspeed#1427, smg#2463: a room that failed is forgotten, and a late decode waits in it."""
    play(
        LOAD,
        [Strike(HoldStage("decode-0", Stage.INTAKE, "r1"), for_s=2.5)],
        allowed=[CAUGHT],
        budgets=Budgets(settle_s=9.0, converge_s=10.0),
    )


@pytest.mark.handover
@pytest.mark.disconnect
@pytest.mark.parametrize(
    ("node", "site"),
    [
        pytest.param("prefill-0", "transfer.done", id="before_the_done_signal"),
        pytest.param("decode-0", "handover.ack", id="before_the_acknowledgement"),
    ],
)
def test_client_leaves_at_the_handover(play: Play, node: str, site: str) -> None:
    """sglang#31965: an abort after the last byte finds a receiver that is gone, and decode dies."""
    (verdict,) = play(
        Together((BESIDE, Lone("victim", tokens=1000))),
        [Strike(Held(node, site, "victim", Disconnect("victim"), Stage.HANDOVER))],
        allowed=[CAUGHT],
        budgets=Budgets(recover_s=2.0, converge_s=20.0),
    )
    assert verdict.about == ("victim",)


@pytest.mark.transfer
@pytest.mark.bandwidth
def test_a_slow_kv_link_changes_no_token(play: Play) -> None:
    """kvcache-ai/vllm#3, sglang#26394: bytes are counted before they can be seen."""
    play(
        Steady(requests=2, every_s=0.2, prompt_bytes=200, tokens=24),
        [Strike(Bandwidth(KV, kb_s=48), for_s=14.0)],
        budgets=Budgets(service_s=12.0, delay_s=12.0, settle_s=14.0, converge_s=14.0),
    )


@pytest.mark.stack(environment=ROOM_FOR_TWO)
@pytest.mark.decode
@pytest.mark.slow_tokens
def test_a_full_pool_of_pages_lets_everybody_through(play: Play) -> None:
    """vllm#53250: a request is preempted, and waits for KV that is sent only once."""
    play(
        Steady(requests=4, every_s=0.4, prompt_bytes=160, tokens=20),
        [Strike(SlowTokens("decode-0", each_s=0.08), for_s=8.0)],
        budgets=Budgets(service_s=5.0, delay_s=5.0, settle_s=7.0, converge_s=9.0),
    )


# Behind smg whatever was asked for: the other router does the same, and keeps so many idle
# connections of the crowd that to tell them from a leak takes more at once than the worker admits.
@pytest.mark.stack(
    router="smg",
    knobs={"PDCHAOS_MAX_QUEUED": "0"},
    environment={"decode": {"PDCHAOS_MAX_RUNNING": "2"}},
)
@pytest.mark.observers
@pytest.mark.crowd
def test_a_worker_that_was_full_is_asked_again_at_once(play: Play) -> None:
    """smg#2565, sglang#39464: "I am full" counts as a worker's fault, and its breaker opens."""
    play(
        # One at a time, and none while the crowd is there: there is room for each of them.
        Steady(requests=6, every_s=1.2),
        [Strike(Crowd(16, refused_min=10), on=At(0.3), for_s=0.3)],
    )


@pytest.mark.stack(topology="1p2d", attempts=2)
@pytest.mark.observers
@pytest.mark.leg_error
def test_a_second_attempt_unseats_no_routing_key(play: Play) -> None:
    """dynamo#10920: a request that is tried again moves its session to another worker."""
    keys = play.keys_on(("decode-0", "decode-1"), 2)
    once = Failpoint("leg.answer", "error", "a0.1", times=1)
    play(
        Agents(agents=3, rounds=5, tokens=16, keys=(*keys["decode-0"][:2], keys["decode-1"][0])),
        [Strike(Arm("decode-0", once), on=Entering("a0.0", Stage.DECODE))],
        allowed=[TOLERATED],
        budgets=Budgets(service_s=3.0, converge_s=20.0),
    )


@pytest.mark.transfer
@pytest.mark.fault_free
def test_forty_transfers_one_after_the_other_leave_nothing_open(play: Play) -> None:
    """sglang#31208, Mooncake#2930: each transfer keeps a connection, until none is left."""
    play(Steady(requests=40, every_s=0.25, prompt_bytes=64, tokens=4))


@pytest.mark.transfer
@pytest.mark.few_descriptors
def test_no_descriptor_is_left_for_a_transfer(play: Play) -> None:
    """sglang#31208, Mooncake#2930: what happens when ports and descriptors have run out."""
    # After the strike, and all at once: who comes later may have the descriptor of one that ended.
    play(
        Burst(requests=8, due_s=1.0),
        [Strike(FewDescriptors("decode-0"), for_s=4.0)],
        allowed=[CAUGHT],
    )


@pytest.mark.stream
@pytest.mark.freeze
def test_a_stream_that_is_given_up_never_just_ends(play: Play) -> None:
    """atlas#540: an engine gives a stream up, and its client sees a good end."""
    play(
        LONG,
        [Strike(Freeze("decode-0", part="engine"), on=Streaming("r1"))],
        allowed=[CAUGHT],
    )


@pytest.mark.ending
@pytest.mark.freeze
def test_a_pause_changes_no_finish_reason(play: Play) -> None:
    """vllm#53269: a reply that was cut for its length says that it ended for another reason."""
    play(
        LONG,
        [Strike(Freeze("decode-0", part="engine"), on=Streaming("r1"), for_s=0.6)],
        # What is asked is how it ends, and not when.
        budgets=Budgets(service_s=8.0, delay_s=8.0, settle_s=10.0, converge_s=12.0),
    )


@pytest.mark.stack(
    knobs={
        "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "1",
        "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "9",
    }
)
@pytest.mark.bootstrap
@pytest.mark.drop
def test_each_timer_obeys_its_own_variable(play: Play) -> None:
    """vllm-ascend#7140: one variable does nothing, and the timer reads another one."""
    # Here the name is the promise: which of the two timers ends it tells which variable it obeys.
    allowed = [caught_by("waiting_timeout")]
    play(LOAD, [Strike(DropMetadata("decode-0", "r1"))], allowed=allowed)


@pytest.mark.lifecycle
@pytest.mark.bad_knob
def test_a_misspelt_variable_is_refused_with_the_nearest_name(play: Play) -> None:
    """vllm-ascend#7140: a variable that nobody reads is taken without a word."""
    misspelt = {"SGLANG_DISAGGREGATION_WAITNG_TIMEOUT": "1"}
    play(Lone("after", due_s=4.0), [Strike(BadKnob("decode-0", misspelt), for_s=2.0)])
    assert "SGLANG_DISAGGREGATION_WAITING_TIMEOUT" in str(play.proof()["decode-0.last_words"])


@pytest.mark.handover
@pytest.mark.fault_free
@pytest.mark.parametrize("tokens", [1, 2, 16])
def test_a_reply_is_exactly_as_long_as_was_asked(play: Play, tokens: int) -> None:
    """TensorRT-LLM#16691, sglang#7598: the token that crosses to decode is counted twice."""
    play(Burst(requests=4, tokens=tokens))


@pytest.mark.observers
@pytest.mark.fault_free
def test_an_idle_stack_shows_no_request(play: Play) -> None:
    """sglang#31517: a gauge goes on showing the last batch."""
    play(LOAD)


@pytest.mark.stack(environment={"prefill": {"PDCHAOS_MAX_RUNNING": "1"}})
@pytest.mark.prefill
@pytest.mark.disconnect
def test_client_leaves_while_it_queues_behind_another(play: Play) -> None:
    """sglang#17483: who leaves while it is queued keeps its slot."""
    play(
        Together((Lone("first", due_s=0.3), Lone("victim", due_s=0.6, tokens=1000))),
        [
            Strike(HoldStage("prefill-0", Stage.PREFILL, "first"), for_s=1.8),
            Strike(Disconnect("victim"), on=Entering("victim", Stage.PREFILL)),
        ],
        allowed=[TOLERATED, CAUGHT],
        budgets=Budgets(service_s=3.0, recover_s=2.0, converge_s=20.0),
    )
