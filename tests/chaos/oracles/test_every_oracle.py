"""Goal: no oracle passes on nothing or trips over a hole. Method: every cut, many random holes."""

from __future__ import annotations

from random import Random

import pytest

from chaos.contracts import Oracle
from chaos.event import Mark
from chaos.history import History, ordered
from chaos.judge import ORACLES, findings, judge
from chaos.specification import Alert
from chaos.stage import FaultKind
from chaos.verdict import Answer, Outcome
from tests.chaos.table import CONTROL, SPECIFICATION, history, marks, played, strike

LOAD = """
    1.0  client    sent     r1  routing_key=k
    1.1  prefill-0 stage    r1  stage=intake attempt=7
    1.1  decode-0  stage    r1  stage=intake attempt=7
    1.2  client    tokens   r1  text=abcd
    1.3  signal    reading  prefill-0/inflight value=1
    1.4  signal    reading  prefill-0/health value=503
    1.5  client    sent     r2  routing_key=k
    1.6  decode-1  stage    r2  stage=intake attempt=8
    1.7  signal    unreadable prefill-0
    1.8  signal    reading  prefill-0/health value=503
    2.9  prefill-0 guard    r1  guard=waiting_timeout why=silence
    3.0  client    broke    r1  how=transport
    3.1  client    skipped  r3  after=r1
    4.0  client    cancelled r2
    4.1  client    lag      load_generator lag_s=0.1
"""
WHOLE = history(
    played(LOAD),
    control=CONTROL,
    strikes=[strike("S1", FaultKind.KILLED, ("decode-0",))],
    alerts=[Alert("pinned", "*/inflight", "pinned"), Alert("blind", "*-*", "unreadable")],
)
MARKS = marks(played(LOAD))


def without(some: list[Mark]) -> History:
    return History(ordered(some), WHOLE.specification, WHOLE.control)


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_nothing_holds_on_nothing(oracle: Oracle) -> None:
    empty = History((), SPECIFICATION)
    assert oracle.judge(empty).answer is Answer.UNKNOWN
    assert oracle.judge(History((), WHOLE.specification, empty)).answer is Answer.UNKNOWN


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_an_oracle_is_pure(oracle: Oracle) -> None:
    before = WHOLE.events
    assert oracle.judge(WHOLE) == oracle.judge(WHOLE)
    assert WHOLE.events == before


def test_the_whole_history_is_judged() -> None:
    assert [verdict.outcome for verdict in judge(WHOLE)] != [Outcome.UNKNOWN]


def test_every_beginning_of_a_history_is_unknown_and_breaks_no_oracle() -> None:
    for size in range(len(MARKS)):
        for verdict in judge(without(list(MARKS[:size]))):
            assert verdict.outcome is Outcome.UNKNOWN, (size, verdict)
            assert "an oracle failed" not in verdict.reason, (size, verdict)


def test_holes_anywhere_break_no_oracle() -> None:
    rng = Random(7)
    for _ in range(300):
        holed = without([mark for mark in MARKS if rng.random() < 0.7])
        told = [*(one.reason for one in findings(holed)), *(one.reason for one in judge(holed))]
        assert not [reason for reason in told if "oracle failed" in reason]
