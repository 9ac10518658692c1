"""Goal: a wrong token is seen, half a right reply is not one. Method: histories by hand."""

from __future__ import annotations

from chaos.history import History
from chaos.oracles.tokens import RepliesAreTheControls
from chaos.verdict import Answer
from tests.chaos.table import CONTROL, history, played

ORACLE = RepliesAreTheControls()
END = "1.5 client finished r1 finish_reason=length done=true"
TWO = (
    CONTROL
    + """
    1.0  client    sent     r2
    1.2  client    tokens   r2  text=zyxwvutsrqpo
    1.5  client    finished r2  finish_reason=length done=true
"""
)


def replied(text: str, end: str = END, control: str = TWO) -> History:
    load = f"1.0 client sent r1\n 1.2 client tokens r1 text={text}\n {end}"
    return history(played(load), control=control)


def test_it_holds_when_the_reply_is_the_controls() -> None:
    assert ORACLE.judge(replied("abcdefghijkl")).answer is Answer.HOLDS


def test_one_other_token_is_a_violation_and_is_named() -> None:
    finding = ORACLE.judge(replied("abcdeXghijkl"))
    assert finding.answer is Answer.VIOLATED
    assert "from character 5 on" in finding.reason


def test_a_complete_reply_that_is_shorter_is_a_violation() -> None:
    finding = ORACLE.judge(replied("abcdef"))
    assert finding.answer is Answer.VIOLATED
    assert "in length" in finding.reason


def test_another_requests_reply_is_named_as_such() -> None:
    finding = ORACLE.judge(replied("zyxwvutsrqpo"))
    assert finding.answer is Answer.VIOLATED
    assert "the reply of r2" in finding.reason


def test_half_a_right_reply_before_an_error_is_not_wrong() -> None:
    assert ORACLE.judge(replied("abcd", "1.5 client broke r1 how=transport")).answer is Answer.HOLDS


def test_wrong_tokens_are_not_excused_by_an_error_after_them() -> None:
    broke = "1.5 client broke r1 how=transport"
    assert ORACLE.judge(replied("abXd", broke)).answer is Answer.VIOLATED


def test_a_round_that_was_tried_again_must_have_the_first_ones_reply() -> None:
    load = "1.0 client sent r1+1\n 1.2 client tokens r1+1 text=abcX\n"
    load += " 1.5 client finished r1+1 finish_reason=length done=true"
    finding = ORACLE.judge(history(played(load), control=CONTROL))
    assert finding.about == ("r1+1",)
    assert finding.answer is Answer.VIOLATED


def test_equal_text_with_another_digest_is_a_violation() -> None:
    end = "1.5 client finished r1 finish_reason=length done=true sha256=beef"
    assert ORACLE.judge(replied("abcdefghijkl", end)).answer is Answer.VIOLATED


def test_without_a_control_nothing_is_proven() -> None:
    assert ORACLE.judge(history(CONTROL)).answer is Answer.UNKNOWN


def test_a_run_without_a_request_of_the_control_proves_nothing() -> None:
    assert ORACLE.judge(history("0.0 run phase steady", control=CONTROL)).answer is Answer.UNKNOWN


def test_a_reply_that_was_cut_off_by_the_end_is_compared_as_far_as_it_came() -> None:
    assert ORACLE.judge(replied("abcd", "")).answer is Answer.HOLDS
    assert ORACLE.judge(replied("abXd", "")).answer is Answer.VIOLATED


def test_a_reply_that_differs_from_its_first_character_says_so() -> None:
    assert "from character 0 on" in ORACLE.judge(replied("Xbcdefghijkl")).reason
