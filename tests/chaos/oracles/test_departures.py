"""Goal: who keeps a request whose client has left is named. Method: histories by hand."""

from __future__ import annotations

import pytest

from chaos.judge import judge
from chaos.oracles.departures import WhoLeftIsLetGo
from chaos.stage import FaultKind
from chaos.verdict import Answer, Finding, Outcome
from tests.chaos.table import CONTROL, history, played, strike

ORACLE = WhoLeftIsLetGo()
# Both workers tell of their cleaning up: the control shows it.
TELLING = CONTROL.replace(
    "1.5  client    finished r1",
    """1.4  prefill-0 stage    r1  stage=cleanup attempt=7
    1.4  decode-0  stage    r1  stage=cleanup attempt=7
    1.5  client    finished r1""",
)
LEFT = """
    1.0  client    sent      r1
    1.1  decode-0  stage     r1  stage=decode attempt=8
    2.0  client    cancelled r1
"""


def judged(load: str, control: str = TELLING, kind: FaultKind = FaultKind.LATE) -> Finding:
    struck = [strike("S1", kind, ("decode-0",))]
    return ORACLE.judge(history(played(LEFT + load), control=control, strikes=struck))


@pytest.mark.parametrize(
    ("at_s", "answer"), [(2.1, Answer.HOLDS), (8.0, Answer.HOLDS), (8.1, Answer.VIOLATED)]
)
def test_a_request_is_let_go_within_its_bound(at_s: float, answer: Answer) -> None:
    assert judged(f"{at_s} decode-0 stage r1 stage=cleanup attempt=8").answer is answer


def test_who_kept_it_and_how_long_is_told() -> None:
    finding = judged("9.5 decode-0 stage r1 stage=cleanup attempt=8")
    assert len(set(finding.evidence)) == 2  # its client's leaving, and the cleanup
    assert finding.about == ("r1",)
    assert "was kept on decode-0 7.50 s after its client had left (release_s=6)" in finding.reason


def test_what_was_let_go_before_its_client_left_is_no_matter() -> None:
    load = """
        1.5  prefill-0 stage r1 stage=transfer attempt=8
        1.8  prefill-0 stage r1 stage=cleanup  attempt=8
        2.1  decode-0  stage r1 stage=cleanup  attempt=8
    """
    assert judged(load).answer is Answer.HOLDS


def test_each_attempt_is_let_go_by_itself() -> None:
    load = """
        1.5  decode-0  stage r1 stage=intake  attempt=9
        2.1  decode-0  stage r1 stage=cleanup attempt=8
        9.0  decode-0  stage r1 stage=cleanup attempt=9
    """
    assert judged(load).answer is Answer.VIOLATED


def test_a_frozen_process_has_its_bound_from_the_thaw_on() -> None:
    late = "9.5 decode-0 stage r1 stage=cleanup attempt=8"
    assert judged(late, kind=FaultKind.FROZEN).answer is Answer.HOLDS
    later = "15.1 decode-0 stage r1 stage=cleanup attempt=8"  # healed at 9.0
    assert judged(later, kind=FaultKind.FROZEN).answer is Answer.VIOLATED


def test_a_node_that_never_says_so_again_is_for_its_resources_to_tell() -> None:
    assert judged("").answer is Answer.HOLDS


def test_a_gauge_shows_it_where_nobody_tells() -> None:
    up = "9.0 signal reading decode-0/running value=1 idle=true"
    assert judged(up, control=CONTROL).answer is Answer.VIOLATED
    assert judged(up.replace("value=1", "value=0"), control=CONTROL).answer is Answer.HOLDS
    assert judged(up.replace("idle=true", ""), control=CONTROL).answer is Answer.HOLDS
    assert judged(up.replace("9.0", "7.9"), control=CONTROL).answer is Answer.HOLDS
    assert judged(up, control=TELLING).answer is Answer.HOLDS  # its marks know better


def test_a_gauge_that_may_be_somebody_elses_shows_nothing() -> None:
    other = "1.0 client sent r2\n 9.5 client finished r2 finish_reason=length done=true"
    up = "9.0 signal reading decode-0/running value=1 idle=true"
    assert judged(f"{other}\n{up}", control=CONTROL).answer is Answer.HOLDS


def test_where_no_client_left_there_is_nothing_to_judge() -> None:
    assert ORACLE.judge(history(CONTROL)).answer is Answer.UNKNOWN


def test_it_is_a_leak_and_is_charged() -> None:
    load = LEFT + "9.5 decode-0 stage r1 stage=cleanup attempt=8"
    struck = [strike("S1", FaultKind.LATE, ("decode-0",))]
    (verdict,) = judge(history(played(load), control=TELLING, strikes=struck))
    assert verdict.outcome is Outcome.LEAKED, verdict


def test_a_run_that_was_cut_off_before_its_bound_accuses_nobody() -> None:
    assert ORACLE.judge(history(LEFT, control=TELLING)).answer is Answer.HOLDS
