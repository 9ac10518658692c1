"""Goal: what a strike hit is read from the history. Method: by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.blow import Blow, blows
from chaos.clock import ns
from chaos.route import route
from chaos.specification import StrikeSpec
from tests.chaos.table import BEGIN_NS, history, strike

HERE = (
    "1.1 decode-0 stage r1 stage=intake attempt=7\n 1.1 prefill-0 stage r1 stage=intake attempt=7"
)


def one(name: str, struck: str = "", spec: StrikeSpec | None = None) -> Blow:
    (blow,) = blows(history(f"{struck}\n 9 run phase done", strikes=[spec or strike(name)]))
    return blow


def may_touch(blow: Blow, *lines: str, request_id: str = "r1") -> bool:
    table = "\n".join((f"1.0 client sent {request_id}", *lines)).replace(" r1 ", f" {request_id} ")
    life = history(table).lives[request_id]
    return blow.may_touch(life, route(life))


def test_a_strike_that_never_began_is_there_and_did_not_bite() -> None:
    two = history(
        """
        2.0 fault struck S1 bit=true entry_s=1.0
        4.0 fault healed S1 bit=true
        9.0 run   phase  done
        """,
        strikes=[strike("S1"), strike("S2")],
    )
    assert [(b.strike, b.bit, b.began_ns, b.end_ns) for b in blows(two)] == [
        ("S1", True, BEGIN_NS + ns(1), BEGIN_NS + ns(4)),
        ("S2", False, None, BEGIN_NS + ns(9)),
    ]


@pytest.mark.parametrize(
    ("name", "nodes", "touched"),
    [
        ("latency on prefill-0->decode-0/kv", (), ["decode-0", "prefill-0"]),
        ("kill decode-0", (), ["decode-0"]),
        ("kill decode-01", (), []),
        ("kill old-decode-0", (), []),
        ("kill decode-0-old", (), []),
        ("kill decode-0", ("prefill-0",), ["prefill-0"]),
        ("SGLANG_X=512 on decode", (), ["decode-0"]),  # a role: each node of it
        ("SGLANG_X=512 on decode", ("decode-0", "decode-1"), ["decode-0"]),
    ],
)
def test_a_strike_touches_the_nodes_of_its_specification_or_its_name(
    name: str, nodes: tuple[str, ...], touched: list[str]
) -> None:
    blow = one(name, spec=strike(name, nodes=nodes))
    assert [node for node in ("decode-0", "prefill-0") if blow.touches(node)] == touched


def test_a_specification_may_name_a_link_or_a_node_that_is_called_like_no_worker() -> None:
    assert one("S1", spec=strike("S1", nodes=("router->decode-0",))).touches("decode-0")
    assert one("S1", spec=strike("S1", nodes=("gateway",))).touches("gateway")


def test_one_of_the_nodes_that_it_hit_is_enough_to_touch_a_request() -> None:
    assert may_touch(one("S1", spec=strike("S1", nodes=("decode-0", "decode-1"))), HERE)


@pytest.mark.parametrize(
    ("told", "touched"),
    [
        ("node=b-0", ["b-0"]),
        ("link='a-1->b-0/kv'", ["b-0"]),  # the name says only which roles
        ("nodes='a-0 b-0' node=a-0", ["a-0", "b-0"]),
        ("nodes=a-0,b-0", ["a-0", "b-0"]),
    ],
)
def test_the_proof_goes_before_the_name(told: str, touched: list[str]) -> None:
    blow = one("kill c-0", f"1 fault struck 'kill c-0' bit=true {told}")
    assert [node for node in ("a-0", "b-0", "c-0") if blow.touches(node)] == touched


@pytest.mark.parametrize(
    ("name", "touches"),
    [
        ("S1", True),  # nobody knows what it hit
        ("kill decode-0", True),
        ("kill decode-1", False),
        ("kill decode", True),
        ("kill router", True),
        ("latency on prefill-0->decode-0/kv", True),
        ("latency on prefill-0->decode-1/kv", False),  # a link touches who uses both of its ends
        ("latency on prefill-1->decode-0/kv", False),
        ("latency on router->decode-0", True),
    ],
)
def test_a_strike_may_touch_the_requests_that_have_to_do_with_what_it_hit(
    name: str,
    touches: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert may_touch(one(name), HERE) is touches


def test_a_request_of_which_nobody_tells_where_it_went_may_be_touched_by_any_strike() -> None:
    assert may_touch(one("kill decode-1"))


def test_a_proof_may_name_the_only_request_that_was_hurt() -> None:
    gone = one("S1", "1 fault struck S1 bit=true request=r1 node=decode-1")
    assert may_touch(gone, HERE)
    assert may_touch(gone, HERE, request_id="r1+2")  # the same round, tried again
    assert not may_touch(gone, HERE, request_id="r2")
    assert may_touch(one("S1", "1 fault struck S1 bit=true request=7"), HERE)  # that is no name


def test_the_specification_says_which_requests_may_be_hurt_before_all_else() -> None:
    spec = replace(strike("kill decode-1"), about=("r*", "x*"))
    assert may_touch(one("kill decode-1", spec=spec), HERE)
    assert not may_touch(one("kill decode-1", spec=spec), HERE, request_id="a1")


def test_a_strike_of_which_nobody_knows_how_long_it_took_to_enter_began_when_it_had() -> None:
    assert one("S1", "2.0 fault struck S1 bit=true entry_s=null").began_ns == BEGIN_NS + ns(2)
