"""Each fault on the real embedded stack: it bites, it heals, also when the body raises."""

from __future__ import annotations

from random import Random

import pytest

from chaos.contracts import Fault, Unreadable
from chaos.event import Kind
from chaos.stage import Stage
from faults.failpoint import (
    Crash,
    DropDoneSignal,
    HoldStage,
    LegError,
    SlowTokens,
    StallWriter,
)
from faults.knobs import BadKnob
from faults.limits import FewDescriptors
from faults.process import Freeze, Kill, Restart, Terminate
from stack.embedded_stack import EmbeddedStack
from stack.freezer import cgroup_root
from stack.page import fetch
from tests.stack.asking import answers, asking, request
from tests.stack.live import live
from tests.stack.until import until

__all__ = ["live"]
IDLE = [
    Kill("decode"),
    Kill("router"),
    Restart("prefill-0"),
    Freeze("decode-0"),
    Freeze("prefill-0", part="engine"),
    Freeze("router"),
    Freeze("decode-0", how="cgroup"),
    BadKnob("decode", {"PDCHAOS_MAX_RUNNING": "5"}),
    BadKnob("prefill-0", {"PDCHAOS_KV_PAGES": "many"}),
    BadKnob("router", {"RUST_BACKTRACE": "1"}),
    FewDescriptors("decode-0"),
    FewDescriptors("prefill", part="whole"),
]
UNDER_LOAD = [
    StallWriter("prefill-0", after_bytes=64, request="victim"),
    HoldStage("decode-0", Stage.ADMIT, "victim"),
    LegError("decode-0", "victim"),
    DropDoneSignal("prefill-0", "victim"),
    Crash("decode-0", "decode.step"),
]


class Trouble(Exception):
    """Raised by a body inside a fault."""


def require(fault: Fault) -> None:
    if isinstance(fault, Freeze) and fault.how == "cgroup" and cgroup_root() is None:
        pytest.skip("no cgroup freezer that we may write")


def ready(stack: EmbeddedStack) -> bool:
    """Whether every node answers and the router has all its workers."""
    try:
        pages = [fetch(stack.nodes[0].url, "/readiness")]
        pages += [fetch(node.url, "/health") for node in stack.nodes[1:]]
    except Unreadable:
        return False
    return all(page.status == 200 for page in pages)


@pytest.mark.parametrize("fault", IDLE, ids=lambda fault: fault.name)
def test_it_bites_and_its_heal_leaves_a_stack_that_answers(
    live: EmbeddedStack, fault: Fault
) -> None:
    require(fault)
    with fault.inject(live, Random(1)) as proof:
        evidence = proof.read()
    assert evidence.bit, evidence.detail
    until("all is well", lambda: ready(live))
    assert answers(live, fault.name.replace(" ", "-"))


@pytest.mark.parametrize(
    "fault",
    [
        Kill("decode-0"),
        Terminate("decode-0"),
        Freeze("decode-0"),
        IDLE[7],
        FewDescriptors("decode-0"),
    ],
    ids=lambda fault: fault.name,
)
def test_it_heals_when_the_body_raises(live: EmbeddedStack, fault: Fault) -> None:
    with pytest.raises(Trouble), fault.inject(live, Random(1)):
        raise Trouble
    until("all is well", lambda: ready(live))
    assert answers(live, "after-trouble")


@pytest.mark.parametrize("fault", UNDER_LOAD, ids=lambda fault: fault.name)
def test_a_failpoint_ends_its_request_badly_and_the_next_one_finishes(
    live: EmbeddedStack, fault: Fault
) -> None:
    until("all is well", lambda: ready(live))
    with fault.inject(live, Random(1)) as proof, asking(live, request("victim", 64)) as marks:
        assert marks.end("victim").kind in {Kind.BROKE, Kind.REFUSED}
        until("the proof", lambda: proof.read().bit)
    until("all is well", lambda: ready(live))
    assert answers(live, "after-victim")


def test_slow_tokens_come_late_and_all_of_them_and_the_next_ones_in_time(
    live: EmbeddedStack,
) -> None:
    until("all is well", lambda: ready(live))
    slow = SlowTokens("decode-0", each_s=0.1)
    with slow.inject(live, Random(1)) as proof, asking(live, request("slow", 8)) as marks:
        end = marks.end("slow")
        assert proof.read().bit
    sent = next(one for one in marks.seen if one.kind is Kind.SENT)
    assert end.kind is Kind.FINISHED
    assert end.at_ns - sent.at_ns >= 0.7e9, "seven of eight are decode's"
    assert answers(live, "in-time")


def test_no_transfer_gets_in_while_the_decode_has_no_descriptor_for_it(
    live: EmbeddedStack,
) -> None:
    until("all is well", lambda: ready(live))
    with FewDescriptors("decode-0").inject(live, Random(1)):
        assert not answers(live, "crowded-out")
    until("all is well", lambda: ready(live))
    assert answers(live, "after-that")


def test_a_failpoint_for_another_request_is_a_no_op(live: EmbeddedStack) -> None:
    with LegError("decode-0", "somebody-else").inject(live, Random(1)) as proof:
        assert answers(live, "bystander")
        assert not proof.read().bit
