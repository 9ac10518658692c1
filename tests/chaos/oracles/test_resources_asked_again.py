"""Goal: what grows with each round of one load is a leak, and nothing else. Method: by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chaos.oracles.resources import ResourcesReturn
from chaos.verdict import Answer, Finding
from tests.chaos.table import history

ORACLE = ResourcesReturn()
LOAD = 10  # requests
EACH = 2  # requests of one round


def reading(at_s: float, name: str, value: float) -> str:
    return f"{at_s} resource reading {name} value={value:g}\n"


def told(name: str, values: Sequence[float], *, usual: float = 0.0, early: bool = True) -> Finding:
    """Its baseline is `usual`; then it was read before each round of two, and after the last.
    `early`: it was known before the first one, too."""
    ids = [f"r{index}" for index in range(LOAD)]
    table = "0.0 run phase steady\n 0.1 resource reading a/pages value=0\n 0.2 run phase disturb\n"
    table += "".join(f"1.0 client sent {one}\n 1.1 client finished {one}\n" for one in ids)
    control = table + "5.0 run phase recover\n" + reading(5.5, "a/pages", 0)
    control += reading(5.5, name, usual) + "9.9 run phase done"
    run = table + (reading(0.15, name, usual) if early else "")
    run += "5.0 run phase recover\n" + reading(5.5, "a/pages", 0)
    for number, value in enumerate(values):
        at_s = 6.0 + number
        run += reading(at_s - 0.1, name, value) if early or number else ""
        if number < len(values) - 1:
            for one in (f"recover/round-{number + 1}/{index}" for index in range(EACH)):
                run += f"{at_s} client sent {one}\n {at_s + 0.1} client finished {one}\n"
    return ORACLE.judge(history(run + "9.9 run phase done", control=control))


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ((1, 2, 3, 4), Answer.VIOLATED),  # one for every second request, in each of three rounds
        ((1, 2, 3, 3), Answer.HOLDS),  # ... in two of them
        ((1, 2, 3), Answer.HOLDS),  # two rounds may be chance
        ((1, 1, 1, 1), Answer.HOLDS),
        ((0, 1, 2, 3), Answer.HOLDS),  # the load itself had left nothing
    ],
)
def test_a_pool_that_grows_with_each_round_leaks_below_its_tolerance(
    values: Sequence[float], answer: Answer
) -> None:
    finding = told("router/fds", values)
    assert finding.answer is answer
    if answer is Answer.VIOLATED:
        assert "grows with each round of 2 requests: 1, 2, 3, 4" in finding.reason


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        (6.0, Answer.VIOLATED),  # ten requests kept 60: half of it is 3 for each, and two a round
        (5.9, Answer.HOLDS),
    ],
)
def test_memory_leaks_when_each_round_adds_its_share_of_what_the_load_had_kept(
    step: float, answer: Answer
) -> None:
    values = [160.0 + step * number for number in range(4)]
    assert told("decode-0/rss", values, usual=100.0).answer is answer


def test_pages_that_stay_are_a_leak_also_where_nothing_more_was_taken_later() -> None:
    assert told("decode-0/pages", (2, 2, 2, 2)).answer is Answer.VIOLATED


def test_one_for_every_second_request_is_growth_however_much_is_kept() -> None:
    assert "grows with each round" in told("router/fds", (40, 41, 42, 43)).reason


def test_memory_that_stays_where_it_is_was_kept_by_an_allocator() -> None:
    assert told("decode-0/rss", (200.0,) * 4, usual=100.0).answer is Answer.HOLDS
    assert told("decode-0/rss", (200.0,), usual=100.0).answer is Answer.VIOLATED  # nobody asked


def test_what_was_not_read_before_the_first_round_did_not_grow_in_it() -> None:
    assert told("router/fds", (0, 1, 2, 3), early=False).answer is Answer.HOLDS
