"""Goal: strikes are charged with what they may have done, and nothing else. Method: by hand."""

from __future__ import annotations

import pytest

from chaos.charge import Charge, Charges
from chaos.clock import ns, seconds
from tests.chaos.table import BEGIN_NS, CONTROL, history, strike

TWO = """
    2.0 fault struck 'S1 on decode-0' bit=true entry_s=1.0
    4.0 fault healed 'S1 on decode-0' bit=true
    6.0 fault struck 'S2 on decode-1' bit=true
    9.0 fault healed 'S2 on decode-1' bit=true
    30.0 run  phase  done
"""
STRIKES = [strike("S1 on decode-0"), strike("S2 on decode-1"), strike("S3 on decode-0")]


def at(at_s: float) -> int:
    return BEGIN_NS + ns(at_s)


def names(charge: tuple[object, ...]) -> list[str]:
    return [str(getattr(one, "strike", ""))[:2] for one in charge]


def of_request(sent_s: float, end_s: float, node: str | None, tokens: str = "") -> Charge:
    stage = f"{sent_s + 0.01} {node} stage r1 stage=decode attempt=1\n" if node else ""
    table = (
        f"{TWO}\n {sent_s} client sent r1\n {stage}{tokens}\n {end_s} client refused r1 status=1"
    )
    told = history(table, control=CONTROL, strikes=STRIKES)
    return Charges(told).of_request(told.lives["r1"], at(end_s))


@pytest.mark.parametrize(
    ("sent_s", "end_s", "node", "charged", "since_s"),
    [
        (0.0, 0.9, None, [], 0.0),  # before the first began to enter
        (0.0, 1.0, None, ["S1"], 1.0),  # it hurts from the beginning of its entry on
        (4.0, 5.0, None, ["S1"], 4.0),
        (4.5, 5.0, None, ["S1"], 4.5),  # afterwards: what it left behind
        (5.5, 6.1, None, ["S2"], 6.0),  # one that came in time goes before one that is over
        (4.5, 6.1, None, ["S2"], 6.0),  # ... in the last moment, too
        (4.4, 6.1, None, ["S1", "S2"], 4.4),  # one that came when it was late shares the charge
        (3.0, 7.0, None, ["S1", "S2"], 3.0),  # a later one does not start the clock again
        (3.0, 7.0, "decode-0", ["S1"], 3.0),  # the other one was on a node that it did not use
        (3.0, 7.0, "decode-1", ["S2"], 6.0),
        (4.5, 7.0, "decode-0", ["S1"], 4.5),  # what is over and touched it, before what did not
        (9.5, 9.9, "decode-1", ["S2"], 9.5),
        (9.0, 9.9, None, ["S2"], 9.0),  # it was undone in the moment in which this was sent
        (9.5, 9.9, "decode-2", [], 9.5),  # what is over, on another node, did nothing to it
    ],
)
def test_a_request_is_charged_to_the_strikes_that_may_have_hurt_it(
    sent_s: float, end_s: float, node: str | None, charged: list[str], since_s: float
) -> None:
    charge = of_request(sent_s, end_s, node)
    assert names(charge.strikes) == charged
    assert seconds(charge.since_ns - BEGIN_NS) == pytest.approx(since_s)
    assert not charge.innocent


def test_what_was_hurt_beside_the_targets_is_charged_and_its_clock_does_not_run() -> None:
    charge = of_request(0.5, 7.0, "decode-2")
    assert names(charge.strikes) == ["S1", "S2"]
    assert (charge.innocent, charge.since_ns) == (True, at(0.5))
    assert names(of_request(9.0, 9.5, "decode-2").strikes) == ["S2"]  # it was undone just then


def test_a_strike_that_came_when_it_had_hung_is_not_charged() -> None:
    assert names(of_request(0.1, 7.0, "decode-1").strikes) == ["S2"]
    for sent_s in (0.0, -0.1):  # settle_s is 6
        assert names(of_request(sent_s, 7.0, "decode-1").strikes) == ["S1"]  # it hurt beside it


def test_nobody_is_charged_with_a_moment_in_which_it_surely_hurt() -> None:
    assert of_request(0.0, 0.9, None) == Charge((), at(0.0), 0, innocent=False)


def test_who_was_undone_just_then_hurt_then() -> None:
    charges = Charges(history(TWO, control=CONTROL, strikes=STRIKES))
    assert names(charges.of_time(at(9.0), at(9.9))) == ["S2"]
    assert names(charges.of_time(at(9.1), at(9.9))) == ["S1", "S2"]  # nobody: all that had


def test_a_stream_had_not_hung() -> None:
    assert names(of_request(-0.1, 7.0, "decode-1", "3 client tokens r1 text=a").strikes) == ["S2"]


@pytest.mark.parametrize(
    ("node", "begin_s", "end_s", "charged"),
    [
        ("decode-0", 2.0, 3.0, ["S1"]),
        ("decode-0", 0.0, 0.9, []),
        ("decode-0", 4.5, 5.0, ["S1"]),  # what it left behind
        ("decode-2", 9.0, 9.9, ["S2"]),  # undone just then
        ("decode-0", 7.0, 8.0, ["S1", "S2"]),  # ... or what hurts beside it
        ("decode-1", 7.0, 8.0, ["S2"]),
        ("decode-2", 7.0, 8.0, ["S2"]),
        ("decode-2", 9.5, 9.9, []),
    ],
)
def test_what_happened_to_a_node_is_charged_to_the_strikes_on_it_first(
    node: str, begin_s: float, end_s: float, charged: list[str]
) -> None:
    charges = Charges(history(TWO, control=CONTROL, strikes=STRIKES))
    assert names(charges.of_node(node, at(begin_s), at(end_s))) == charged


def test_a_strike_of_which_nobody_tells_what_it_hit_may_have_left_anything_behind() -> None:
    charges = Charges(history(TWO.replace(" on decode-0", ""), strikes=[strike("S1"), STRIKES[1]]))
    assert names(charges.of_node("decode-2", at(9.5), at(9.9))) == ["S1"]


def test_what_shows_only_in_the_end_is_charged_to_all_that_began() -> None:
    assert names(Charges(history(TWO, strikes=STRIKES)).of_run()) == ["S1", "S2"]


@pytest.mark.parametrize(
    ("begin_s", "end_s", "charged"),
    [
        (0.0, 0.9, []),
        (4.0, 5.0, ["S1"]),
        (4.5, 5.0, ["S1"]),
        (9.0, 9.9, ["S2"]),
        (9.5, 9.9, ["S1", "S2"]),
    ],
)
def test_by_time_alone_whoever_hurt_then_is_meant_else_whoever_had(
    begin_s: float, end_s: float, charged: list[str]
) -> None:
    charges = Charges(history(TWO, strikes=STRIKES))
    assert names(charges.of_time(at(begin_s), at(end_s))) == charged
