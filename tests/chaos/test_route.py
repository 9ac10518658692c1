"""Goal: where a request went is taken from what workers wrote. Method: requests by hand."""

from __future__ import annotations

import pytest

from chaos.route import Route, is_worker, role_of, route, workers_of
from tests.chaos.table import history

BOTH = (
    "1.1 prefill-0 stage r1 stage=intake attempt=7\n 1.1 decode-0 stage r1 stage=intake attempt=7"
)
FIRST_HALF = "1.1 prefill-1 stage r1 stage=intake attempt=6\n"
CLEANED = "2.0 decode-0 guard r1 guard=waiting_timeout"


def went(*lines: str) -> Route:
    return route(history("\n".join(("1.0 client sent r1", *lines))).lives["r1"])


@pytest.mark.parametrize(
    ("lines", "node", "may"),
    [
        ((), "decode-0", True),  # nobody told where it went
        ((BOTH,), "decode-0", True),
        ((BOTH,), "decode-1", False),
        ((BOTH,), "router", True),  # every request has to do with it
        ((BOTH,), "encode-0", True),  # of that role nobody told
        ((FIRST_HALF,), "decode-1", True),  # its other half may have gone there
        ((FIRST_HALF, BOTH), "decode-1", True),  # ... at the first attempt
        ((FIRST_HALF, BOTH), "prefill-2", False),
        ((CLEANED,), "decode-1", False),  # a guard that named it had it
        ((CLEANED,), "prefill-0", True),
    ],
)
def test_it_may_have_used_a_node_unless_others_of_the_role_served_each_attempt(
    lines: tuple[str, ...],
    node: str,
    may: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert went(*lines).may_use(node) is may


def test_a_mark_without_a_room_belongs_to_no_attempt() -> None:
    told = went(BOTH, "1.2 decode-1 stage r1 stage=decode")
    assert told.used == {"prefill-0", "decode-0", "decode-1"}
    assert told.attempts == (frozenset({"prefill-0", "decode-0"}),)


def test_the_router_and_the_client_are_no_workers() -> None:
    assert [is_worker(one) for one in ("decode-0", "router", "client", "a0.1", "-1")] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert (role_of("decode-12"), role_of("router")) == ("decode", "router")
    wrote = history("1.0 client sent r1\n 1.1 decode-0 stage r1 stage=intake")
    assert workers_of(wrote.events) == {"decode-0"}
