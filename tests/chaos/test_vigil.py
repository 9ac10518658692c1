"""Goal: waiting ends when it can show nothing new, and not before. Method: marks by hand."""

from __future__ import annotations

import pytest

from chaos.clock import ns
from chaos.specification import Budgets
from chaos.vigil import Vigil
from tests.chaos.table import BEGIN_NS, marks

BUDGETS = Budgets(settle_s=6.0, detect_s=4.0)


@pytest.mark.parametrize(
    ("table", "at_s", "hopeless"),
    [
        ("", 99.0, False),  # nobody waits: the load generator will say so
        ("1 client sent r1", 7.0, False),
        ("1 client sent r1", 7.2, True),
        ("1 client sent r1\n 3 fault struck S1 bit=true", 7.2, False),  # counts from the strike
        ("1 client sent r1\n 3 fault struck S1 bit=true", 9.2, True),
        ("1 client sent r1\n 5 client sent r2", 7.2, False),  # another one still has its time
        ("1 client sent r1\n 5 client sent r2\n 6 client finished r2", 7.2, True),
        ("1 client sent r1\n 2 client cancelled r1", 99.0, False),
        ("1 client sent r1\n 5 client tokens r1 text=a", 7.2, False),  # a long stream is no hang
        ("1 client sent r1\n 5 client tokens r1 text=a", 11.2, True),
        ("1 client sent r1\n 7.2 client tokens r1 text=a", 7.3, True),  # thawed too late
        ("1 client sent r1\n 6 client finished r1\n 7 client tokens r1 text=a", 99.0, False),
    ],
)
def test_it_is_hopeless_when_all_that_wait_have_hung(
    table: str,
    at_s: float,
    hopeless: bool,  # noqa: FBT001 - a row of the table
) -> None:
    vigil = Vigil(BUDGETS)
    for mark in marks(table):
        vigil.hear(mark)
    assert vigil.is_hopeless(BEGIN_NS + ns(at_s)) is hopeless


def test_the_time_of_detection_is_waited_for_when_it_is_longer() -> None:
    vigil = Vigil(Budgets(settle_s=1.0, detect_s=4.0, converge_s=1.0))
    for mark in marks("1 client sent r1"):
        vigil.hear(mark)
    assert not vigil.is_hopeless(BEGIN_NS + ns(4.9))
    assert vigil.is_hopeless(BEGIN_NS + ns(5.2))
