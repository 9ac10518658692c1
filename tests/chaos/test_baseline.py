"""Goal: the run stops polling when everything is back, and not before. Method: by hand."""

from __future__ import annotations

import pytest

from chaos.baseline import Baseline, unread
from tests.chaos.table import history

BASELINE = Baseline({"a/pages": 1.0, "b/pages": 2.0}, {"a/pages": 3.0, "c/pages": 9.0}, 1)


@pytest.mark.parametrize(
    ("now", "back"),
    [
        ({"a/pages": 3.0, "b/pages": 2.0, "c/pages": 9.0}, True),  # the control's is higher for a
        ({"a/pages": 4.0, "b/pages": 2.0, "c/pages": 9.0}, False),
        ({"a/pages": 0.0, "b/pages": 3.0, "c/pages": 9.0}, False),
        ({"a/pages": 0.0, "b/pages": 0.0, "c/pages": 9.1}, False),  # only the control had it
        ({"a/pages": 3.0, "c/pages": 9.0}, False),  # one cannot be read any more
        ({"a/pages": 0.0, "b/pages": 0.0}, False),  # nor one that only the control had
        ({"a/pages": 0.0, "b/pages": 0.0, "c/pages": 0.0, "new/pages": 5.0}, True),  # never read
    ],
)
def test_it_is_back_when_each_resource_that_was_read_is(
    now: dict[str, float],
    back: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert BASELINE.is_back(now) is back


def test_what_is_missing_is_named() -> None:
    assert BASELINE.missing({"b/pages": 0.0}) == ("a/pages", "c/pages")


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("router/fds", 14.0, False),  # 4 more after 9 requests: fewer than one for every second
        ("router/fds", 14.5, True),  # just as many
        ("router/fds", 15.0, True),
        ("router/resident_bytes", 12.5, False),  # a quarter more is what allocators keep
        ("router/resident_bytes", 12.6, True),
        ("router/pages", 99.0, False),  # exact: no question
    ],
)
def test_a_pool_is_in_question_when_a_leak_for_each_request_could_have_made_it(
    name: str,
    value: float,
    kept: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert bool(Baseline({name: 10.0}, {name: 10.0}, 4).kept({name: value}, requests=9)) is kept


def test_a_gauge_that_is_zero_when_nothing_runs_is_exact_whatever_it_is_called() -> None:
    name = "router/connections_active"
    baseline = Baseline({name: 1.0}, {name: 1.0}, 4, idle=frozenset({name}))
    assert not baseline.is_back({name: 1.0})
    assert baseline.is_back({name: 0.0})
    assert baseline.kept({name: 99.0}, requests=1) == ()


def test_what_was_kept_without_any_request_is_of_none() -> None:
    name = "router/resident_bytes"
    assert Baseline({name: 10.0}, None, 4).per_request(name, 12.0, requests=0) == 1.0


def test_the_last_that_a_run_or_its_control_tells_counts() -> None:
    """A history that was cut off ends with a reading."""
    table = """
        0.0 run      phase   steady
        0.1 resource unreadable router
        0.2 run      phase   disturb
        5.0 run      phase   recover
        6.0 resource reading router/fds value=9 probe=router
    """
    blind = table.replace("reading router/fds", "unreadable router")
    assert unread(history(table, control=blind)) == ("router",)
    assert unread(history(table, control=table)) == ()
