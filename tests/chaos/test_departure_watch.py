"""Goal: it is watched for as long as it may still show something. Method: marks by hand."""

from __future__ import annotations

import pytest

from chaos.clock import ns
from chaos.departure_watch import DepartureWatch
from chaos.specification import Budgets
from tests.chaos.oracles.test_departures import LEFT, TELLING
from tests.chaos.table import BEGIN_NS, CONTROL, history, marks

BUDGETS = Budgets(release_s=6.0)
FREED = "2.1 decode-0 stage r1 stage=cleanup attempt=8"
UP = "2.5 signal reading decode-0/running value=1 idle=true\n"


def is_open(table: str, at_s: float, control: str = TELLING) -> bool:
    watch = DepartureWatch(BUDGETS, history(control))
    for mark in marks(table):
        watch.hear(mark)
    return watch.is_open(BEGIN_NS + ns(at_s))


@pytest.mark.parametrize(
    ("table", "at_s", "expected"),
    [
        (LEFT, 3.0, True),
        (LEFT, 8.2, True),  # the mark of the last moment still reaches us
        (LEFT, 8.4, False),
        (LEFT + FREED, 3.0, False),
        (LEFT.replace("cancelled", "finished"), 3.0, False),
    ],
)
def test_it_is_open_until_it_is_let_go_or_should_have_been(
    table: str,
    at_s: float,
    expected: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert is_open(table, at_s) is expected


def test_a_node_that_tells_nothing_is_watched_by_its_gauges() -> None:
    assert is_open(LEFT + UP, 3.0, CONTROL)
    assert not is_open(LEFT, 3.0, CONTROL)
    assert not is_open(LEFT + UP + UP.replace("value=1", "value=0"), 3.0, CONTROL)
    assert not is_open(LEFT + FREED + "\n" + UP, 3.0, TELLING)


def test_without_a_control_nobody_is_known_to_tell() -> None:
    watch = DepartureWatch(BUDGETS, None)
    for mark in marks(LEFT):
        watch.hear(mark)
    assert not watch.is_open(BEGIN_NS + ns(3.0))
