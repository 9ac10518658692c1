"""Goal: each reading is before or after the round that it belongs to. Method: histories by hand."""

from __future__ import annotations

import pytest

from chaos.rounds import BURST_MAX, Round, burst, burst_size, rounds
from tests.chaos.table import history


def ask(at_s: float, name: str, *, ended: str = "finished") -> str:
    return f"""
        {at_s}       client sent    recover/{name}/0
        {at_s}       client sent    recover/{name}/1
        {at_s + 0.1} client {ended} recover/{name}/0
        {at_s + 0.2} client {ended} recover/{name}/1
    """


def read(at_s: float, value: int) -> str:
    return f"{at_s} resource reading router/fds value={value}\n"


def test_a_round_is_between_the_readings_around_it() -> None:
    table = read(0.5, 7) + ask(1, "round-1") + read(1.3, 9) + read(1.4, 8)
    table += ask(1.5, "round-2") + read(1.9, 11)
    told = [(one.requests, one.before, one.after) for one in rounds(history(table))]
    assert told == [
        (2, {"router/fds": 7}, {"router/fds": 8}),
        (2, {"router/fds": 8}, {"router/fds": 11}),
    ]


def test_what_is_given_back_long_after_a_round_is_not_its_doing() -> None:
    table = read(0.5, 7) + ask(1, "burst-2") + read(1.3, 9) + read(5.0, 7)
    told = burst(history(table))
    assert told is not None
    assert told.growth("router/fds") == 2


def test_a_late_reading_is_better_than_none() -> None:
    told = burst(history(read(0.5, 7) + ask(1, "burst-2") + read(5.0, 9)))
    assert told is not None
    assert told.growth("router/fds") == 2


@pytest.mark.parametrize(("ended", "served"), [("finished", True), ("refused", False)])
def test_a_round_is_served_when_each_of_it_was(ended: str, served: bool) -> None:  # noqa: FBT001 - a row
    (told,) = rounds(history(ask(1, "round-1", ended=ended)))
    assert told.served is served


def test_a_resource_that_was_not_read_grew_by_nothing() -> None:
    assert not Round(4, served=True, before={}, after={"router/fds": 9.0}).grew("router/fds", 0.5)


def test_a_burst_is_never_more_than_what_is_kept_can_serve() -> None:
    assert [burst_size(one) for one in (1.0, 11.0, 500.0)] == [1, 5, BURST_MAX]


def test_a_history_without_rounds_has_none() -> None:
    assert rounds(history(read(0.5, 7))) == ()
    assert burst(history(read(0.5, 7))) is None
