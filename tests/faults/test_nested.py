"""A fault inside another one: both bite, and both are undone, the inner one first."""

from __future__ import annotations

from random import Random

import pytest

from faults.nested import Nested
from tests.chaos.fake_stack import FakeFault, FakeStack

STACK = FakeStack()


def nested(*, first: bool = True, then: bool = True) -> tuple[Nested, list[str]]:
    notes: list[str] = []
    outer = FakeFault("outer", notes, bites=first)
    return Nested(outer, FakeFault("inner", notes, bites=then)), notes


@pytest.mark.parametrize(
    ("first", "then", "bit"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_it_bites_when_both_do(
    first: bool,  # noqa: FBT001 - a row of the table
    then: bool,  # noqa: FBT001 - likewise
    bit: bool,  # noqa: FBT001 - likewise
) -> None:
    fault, _ = nested(first=first, then=then)
    with fault.inject(STACK, Random(7)) as proof:
        assert proof.read().bit is bit


def test_it_is_undone_in_the_opposite_order() -> None:
    fault, notes = nested()
    with fault.inject(STACK, Random(7)):
        pass
    assert notes == ["outer begins", "inner begins", "inner ends", "outer ends"]


def test_it_is_undone_when_the_body_raises() -> None:
    fault, notes = nested()
    with pytest.raises(KeyError), fault.inject(STACK, Random(7)):
        raise KeyError
    assert notes[-2:] == ["inner ends", "outer ends"]


def test_the_outer_one_is_undone_when_the_inner_one_cannot_enter() -> None:
    notes: list[str] = []
    fault = Nested(FakeFault("outer", notes), FakeFault("inner", notes, enter_fails=OSError()))
    with pytest.raises(OSError), fault.inject(STACK, Random(7)):  # noqa: PT011 - any of it
        pass
    assert notes == ["outer begins", "outer ends"]
