"""Failpoints are armed while inside, at a site that exists, on the node that was meant."""

from __future__ import annotations

from random import Random

import pytest

from chaos.experiment import Slowing
from chaos.failpoint import Failpoint
from chaos.stage import FaultKind, Stage
from faults.failpoint import (
    SITES,
    Arm,
    Crash,
    DropDoneSignal,
    DropMetadata,
    HoldStage,
    LegError,
    SlowTokens,
    StallWriter,
)
from stack.engine import failpoints
from tests.faults.toy_stack import ToyStack

NAMED = [
    StallWriter("prefill-0", after_bytes=4096, request="r1"),
    HoldStage("decode-0", Stage.ADMIT, "r1"),
    LegError("prefill-0", "r1"),
    DropDoneSignal("prefill-0"),
    DropMetadata("prefill-0"),
    Crash("decode-0", "decode.step"),
]


class Trouble(Exception):
    """Raised by a body inside a fault."""


def test_a_failpoint_is_armed_while_inside_and_its_proof_is_its_hit_count() -> None:
    stack = ToyStack()
    with StallWriter("prefill-0", 4096).inject(stack.as_stack(), Random(0)) as proof:
        assert stack.deeds == ["arm stop_after transfer.page on prefill-0"]
        assert not proof.read().bit
        stack.hits = 1
        assert proof.read().bit
    assert stack.deeds[-1] == "disarm prefill-0"


def test_a_failpoint_is_disarmed_when_the_body_raises() -> None:
    stack = ToyStack()
    with pytest.raises(Trouble), LegError("decode").inject(stack.as_stack(), Random(0)):
        raise Trouble
    assert stack.deeds[-1].startswith("disarm decode-")


def test_slow_tokens_delay_each_token_of_a_decode_and_only_slow() -> None:
    stack = ToyStack(failpoint_sites=("decode.token",))
    slow = SlowTokens("decode-0", each_s=0.2)
    with slow.inject(stack.as_stack(), Random(0)) as proof:
        assert not proof.read().bit
        stack.hits = 1
        assert proof.read().bit
    with pytest.raises(Trouble), slow.inject(stack.as_stack(), Random(0)):
        raise Trouble
    assert stack.deeds == ["arm delay decode.token on decode-0", "disarm decode-0"] * 2
    assert isinstance(slow, Slowing)
    assert slow.alive
    with pytest.raises(ValueError, match="each_s: expected more than 0"):
        SlowTokens("decode-0", each_s=0.0)


def test_a_site_that_the_stack_does_not_have_is_refused_with_those_it_has() -> None:
    stack = ToyStack()
    fault = Arm("prefill-0", Failpoint("transfer.pge", "hold"))
    with (
        pytest.raises(ValueError, match=r"no failpoint 'transfer\.pge' here; there are: transfer"),
        fault.inject(stack.as_stack(), Random(0)),
    ):
        pass
    assert stack.deeds == []


def test_a_stage_in_which_nothing_can_be_held_is_refused() -> None:
    with pytest.raises(ValueError, match="no request can be held at client"):
        HoldStage("decode-0", Stage.CLIENT)


@pytest.mark.parametrize("fault", NAMED, ids=lambda fault: fault.name)
def test_every_named_fault_uses_a_site_and_an_action_that_the_engine_has(fault: Arm) -> None:
    assert fault.failpoint.site in failpoints.SITES
    assert fault.failpoint.action in failpoints.ACTIONS


def test_every_stage_s_door_is_a_site_of_the_engine() -> None:
    assert set(SITES.values()) <= set(failpoints.SITES)


def test_named_faults_keep_their_arguments_and_stand_in_their_stage() -> None:
    stall, hold, leg, done, metadata, crash = NAMED
    assert (stall.failpoint.after_bytes, stall.failpoint.request_id) == (4096, "r1")
    assert [fault.stage for fault in NAMED] == [
        Stage.TRANSFER,
        Stage.ADMIT,
        Stage.INTAKE,
        Stage.HANDOVER,
        Stage.BOOTSTRAP,
        Stage.DECODE,
    ]
    assert (hold.kind, leg.kind, done.kind) == (FaultKind.LATE, FaultKind.DISAGREE, FaultKind.LOST)
    assert metadata.failpoint.request_id is None
    assert crash.failpoint.times == 1
    assert len({fault.name for fault in NAMED}) == len(NAMED)
