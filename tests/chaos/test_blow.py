"""Goal: a strike is charged with what it did, and with nothing else. Method: by hand."""

from __future__ import annotations

import pytest

from chaos.blow import affected_ns, blows, charged
from chaos.clock import NS_PER_S, ns
from tests.chaos.table import BEGIN_NS, history, strike

TWO = history(
    """
    2.0 fault struck S1 bit=true entry_s=1.0
    4.0 fault healed S1 bit=true
    6.0 fault struck S2 bit=true
    9.0 run   phase  done
    """,
    strikes=[strike("S1"), strike("S2"), strike("S3")],
)


def at(seconds: float) -> int:
    return BEGIN_NS + ns(seconds)


@pytest.mark.parametrize(
    ("begin_s", "end_s", "expected"),
    [
        (0.0, 0.9, []),  # before the first began to enter
        (0.0, 1.0, ["S1"]),  # while it entered
        (4.0, 5.0, ["S1"]),
        (4.5, 5.0, ["S1"]),  # afterwards: what it left behind
        (4.5, 6.0, ["S2"]),  # one that lasts goes before one that is over
        (3.0, 7.0, ["S1", "S2"]),
        (8.0, 9.0, ["S2"]),  # never undone: it lasts to the end
    ],
)
def test_whoever_was_active_is_charged_else_whoever_was_before(
    begin_s: float, end_s: float, expected: list[str]
) -> None:
    assert [one.strike for one in charged(blows(TWO), at(begin_s), at(end_s))] == expected


def test_a_strike_that_never_began_is_there_and_did_not_bite() -> None:
    assert [(one.strike, one.bit) for one in blows(TWO)] == [
        ("S1", True),
        ("S2", True),
        ("S3", False),
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
    ],
)
def test_a_strike_touches_the_nodes_of_its_specification_or_its_name(
    name: str, nodes: tuple[str, ...], touched: list[str]
) -> None:
    (blow,) = blows(history("0 run phase done", strikes=[strike(name, nodes=nodes)]))
    assert [one for one in ("decode-0", "prefill-0") if blow.touches(one)] == touched


def test_the_proofs_own_node_goes_before_the_name() -> None:
    told = history("1 fault struck 'kill a-0' bit=true node=b-0", strikes=[strike("kill a-0")])
    (blow,) = blows(told)
    assert (blow.touches("a-0"), blow.touches("b-0")) == (False, True)


def test_a_link_that_the_seed_chose_tells_which_nodes_were_touched() -> None:
    """The name says only "prefill->decode/kv": whoever left decode-1 would be a stray."""
    name = "stall prefill->decode/kv"
    chosen = f"1 fault struck '{name}' bit=true link='prefill-0->decode-1/kv'"
    (blow,) = blows(history(chosen, strikes=[strike(name)]))
    nodes = ("prefill-0", "decode-1", "decode-0")
    assert [blow.touches(one) for one in nodes] == [True, True, False]


@pytest.mark.parametrize(
    ("sent_s", "end_s", "expected_s"),
    [
        (0.0, 1.5, 0.0),  # ended before it was struck
        (0.0, 5.0, 2.0),  # struck after it was sent
        (3.0, 5.0, 3.0),  # sent after the strike
        (0.0, 8.0, 6.0),  # the second strike came before the first one's time was over
    ],
)
def test_an_affected_request_counts_from_being_sent_or_struck(
    sent_s: float, end_s: float, expected_s: float
) -> None:
    to = [one for one in blows(TWO) if one.struck]
    assert affected_ns(at(sent_s), at(end_s), to, ns(5)) == at(expected_s)


def test_a_second_strike_does_not_start_the_count_again_when_it_was_over() -> None:
    to = [one for one in blows(TWO) if one.struck]
    assert affected_ns(at(0), at(8), to, ns(3.9)) == at(2)
    assert affected_ns(at(0), at(8), to, 4 * NS_PER_S) == at(6)
