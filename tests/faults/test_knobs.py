"""A bad knob reaches every node of its role, and the plan's comes back whatever happens."""

from __future__ import annotations

from random import Random

import pytest

from faults.knobs import BadKnob
from tests.faults.toy_stack import ToyStack

KNOB = {"SGLANG_SM120_MMA_TARGET_CTAS": "512"}


class Trouble(Exception):
    """Raised by a body inside a fault."""


def test_a_role_s_knob_is_set_on_each_of_its_nodes_and_taken_back() -> None:
    stack = ToyStack()
    with BadKnob("decode", KNOB).inject(stack.as_stack(), Random(0)) as proof:
        assert stack.deeds == [f"retune decode-0 {KNOB}", f"retune decode-1 {KNOB}"]
        evidence = proof.read()
        assert evidence.bit
        assert {"decode-0.node", "decode-1.node"} <= set(evidence.detail)
        assert evidence.detail["nodes"] == "decode-0, decode-1"
    assert sorted(stack.deeds[2:]) == ["tune back decode-0", "tune back decode-1"]


def test_one_node_s_knob_is_set_on_that_node_alone() -> None:
    stack = ToyStack()
    with BadKnob("decode-1", KNOB).inject(stack.as_stack(), Random(0)) as proof:
        assert stack.deeds == [f"retune decode-1 {KNOB}"]
        assert proof.read().detail["nodes"] == "decode-1"


def test_a_knob_that_is_not_read_back_is_a_no_op() -> None:
    stack = ToyStack(obeys=False)
    with BadKnob("decode", KNOB).inject(stack.as_stack(), Random(0)) as proof:
        assert not proof.read().bit


def test_the_plan_s_knobs_come_back_when_the_body_raises() -> None:
    stack = ToyStack()
    with pytest.raises(Trouble), BadKnob("decode", KNOB).inject(stack.as_stack(), Random(0)):
        raise Trouble
    assert sorted(stack.deeds[2:]) == ["tune back decode-0", "tune back decode-1"]


def test_a_bad_knob_without_a_knob_or_without_a_node_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one variable"):
        BadKnob("decode", {})
    stack = ToyStack()
    with (
        pytest.raises(ValueError, match="no node or role 'encoder'"),
        BadKnob("encoder", KNOB).inject(stack.as_stack(), Random(0)),
    ):
        pass
    assert stack.deeds == []


def test_the_name_shows_knob_value_and_place() -> None:
    assert BadKnob("decode", KNOB).name == "SGLANG_SM120_MMA_TARGET_CTAS=512 on decode"
