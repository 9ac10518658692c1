"""No descriptor more: proven by the room that is left, and given back whatever the body does."""

from __future__ import annotations

from random import Random

import pytest

from faults.limits import FewDescriptors, Limitable
from tests.faults.toy_stack import ToyStack


class Trouble(Exception):
    """Raised by a body inside a fault."""


def test_a_limit_is_proven_by_the_room_that_is_left() -> None:
    stack = ToyStack()
    with FewDescriptors("decode-0").inject(stack.as_stack(), Random(0)) as proof:
        assert proof.read().bit
        assert proof.read().detail == {"node": "decode-0", "room.7": 0}
        stack.room = {"7": "X"}  # it died of it
        assert proof.read().bit
        stack.room = {"7": 3}
        assert not proof.read().bit
        stack.room = {}
        assert not proof.read().bit
    assert stack.deeds == ["limit decode-0 engine", "unlimit decode-0 engine"]


def test_a_limit_without_effect_is_a_no_op() -> None:
    stack = ToyStack(obeys=False)
    with FewDescriptors("decode-0", part="whole").inject(stack.as_stack(), Random(0)) as proof:
        assert not proof.read().bit


def test_a_limit_is_lifted_when_the_body_raises() -> None:
    stack = ToyStack()
    with pytest.raises(Trouble), FewDescriptors("decode").inject(stack.as_stack(), Random(0)):
        raise Trouble
    assert stack.deeds[-1].startswith("unlimit decode-")


def test_a_part_that_no_node_has_and_a_node_that_is_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="part: expected one of engine, whole"):
        FewDescriptors("decode-0", part="front")
    stack = ToyStack()
    with (
        pytest.raises(ValueError, match="no node or role 'encoder'"),
        FewDescriptors("encoder").inject(stack.as_stack(), Random(0)),
    ):
        pass
    assert stack.deeds == []


def test_it_needs_a_stack_whose_descriptors_can_be_limited() -> None:
    assert isinstance(ToyStack(), FewDescriptors("decode-0").needs)
    assert not isinstance(object(), Limitable)
