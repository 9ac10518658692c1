"""Goal: a guard may condemn a node only when it was hurt. Method: histories by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.verdict import Answer
from tests.chaos.oracles.test_false_alarm import judged, named

WORKS = "3.3 decode-0 stage r1 stage=decode"


def about_node(at_s: float, name: str, node: str = "decode-0", actor: str = "router") -> str:
    return f"{at_s} {actor} guard {node} guard={name} why=sick"


@pytest.mark.parametrize(
    ("name", "at_s", "answer"),
    [
        ("hurt decode-0", 3.5, Answer.HOLDS),
        ("hurt decode", 3.5, Answer.HOLDS),
        ("hurt decode-0", 10.0, Answer.HOLDS),  # undone at 5.0, and recover_s is 5
        ("hurt decode-0", 10.1, Answer.VIOLATED),
        ("hurt decode-0", 1.1, Answer.HOLDS),  # just then
        ("hurt decode-0", 0.9, Answer.VIOLATED),  # before it was hit
        ("hurt decode-1", 3.5, Answer.VIOLATED),
        ("a crowd of 16", 3.5, Answer.VIOLATED),  # it hit no node
    ],
)
def test_a_breaker_may_condemn_only_a_node_that_was_hit(
    name: str, at_s: float, answer: Answer
) -> None:
    strikes, struck = named(name)
    finding = judged(WORKS, about_node(at_s, "router_breaker"), strikes=strikes, struck=struck)
    assert finding.answer is answer
    if answer is Answer.VIOLATED:
        assert (finding.by, finding.about) == ("router_breaker", ("decode-0",))


def test_a_node_that_was_only_slowed_may_not_be_condemned() -> None:
    (planned,), struck = named("hurt decode-0")
    slow = [replace(planned, alive=True)]
    line = about_node(3.5, "router_breaker")
    assert judged(WORKS, line, strikes=slow, struck=struck).answer is Answer.VIOLATED


def test_a_node_that_never_worked_may_be_condemned_without_need_as_well() -> None:
    known = "0.5 signal reading prefill-1/load value=0"
    line = about_node(3.5, "router_breaker", node="prefill-1")
    assert judged(known, line).answer is Answer.VIOLATED
    assert judged(line).answer is Answer.HOLDS  # nobody knows such a node: it may be a request


def test_who_only_reports_or_stands_at_the_door_condemns_no_node() -> None:
    for name in ("router_stream_failure", "knob_validation"):
        assert judged(WORKS, about_node(3.5, name)).answer is Answer.HOLDS


def test_a_node_that_died_by_itself_is_rightly_condemned() -> None:
    died = "3.4 supervisor died decode-0 part=engine exit_code=1"
    line = about_node(3.5, "subprocess_watchdog", actor="decode-0")
    assert judged(WORKS, died, line).answer is Answer.HOLDS
    assert judged(WORKS, died.replace("3.4", "3.6"), line).answer is Answer.VIOLATED


def test_a_guard_of_silence_may_condemn_a_node_that_stands_still() -> None:
    """It is not known what the strike hit: then only the node's own work tells."""
    strikes, struck = named("S1")
    still = "2.4 decode-0 stage r1 stage=decode"
    line = about_node(3.5, "step_watchdog", actor="decode-0")
    assert judged(still, line, strikes=strikes, struck=struck).answer is Answer.HOLDS
    just = still.replace("2.4", "2.5")  # half of its patience of 2 s
    assert judged(just, line, strikes=strikes, struck=struck).answer is Answer.HOLDS
    assert judged(line, strikes=strikes, struck=struck).answer is Answer.HOLDS  # it never worked
    assert judged(WORKS, line, strikes=strikes, struck=struck).answer is Answer.VIOLATED
    assert judged(still, line).answer is Answer.VIOLATED  # no strike at all
    healed = struck.replace("5.0 ", "3.499999999 ")
    assert judged(still, line, strikes=strikes, struck=healed).answer is Answer.VIOLATED
    slow = [replace(one, alive=True) for one in strikes]  # it lets every node go on
    assert judged(still, line, strikes=slow, struck=struck).answer is Answer.VIOLATED
