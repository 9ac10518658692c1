"""Goal: how many at once, and for how long, follows from the requests. Method: by hand."""

from __future__ import annotations

import pytest

from chaos.contracts import Request
from chaos.load import concurrency, span_s


def request(name: str, due_s: float = 0.0, after: str | None = None) -> Request:
    return Request(name, due_s, "prompt", 4, after=after)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([], 1),
        ([request("a")], 1),
        ([request("a"), request("b")], 2),
        ([request("a"), request("b", 0.9)], 2),
        ([request("a"), request("b", 1.0)], 1),  # the first has ended by then
        ([request("a"), request("a2", 0.5, "a"), request("b", 2.0)], 2),  # a chain lasts 2.5 s
        ([request("a"), request("a2", 0.0, "a"), request("a3", 0.0, "a2")], 1),  # one at a time
    ],
)
def test_the_concurrency_is_the_most_chains_that_are_open_at_once(
    requests: list[Request], expected: int
) -> None:
    assert concurrency(requests) == expected


def test_the_span_counts_pauses_and_service_along_each_chain() -> None:
    chain = [request("a", 1.0), request("a2", 0.5, "a"), request("b", 2.0)]
    assert span_s(chain) == pytest.approx(3.5)
    assert span_s([]) == 0.0
