"""Goal: a wrong token is seen, half a right reply is not one. Method: histories by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.history import History
from chaos.oracles.tokens import RepliesAreTheControls
from chaos.verdict import Answer
from tests.chaos.table import CONTROL, SPECIFICATION, history, played

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
    finding = ORACLE.judge(history(CONTROL))
    assert (finding.answer, "no control" in finding.reason) == (Answer.UNKNOWN, True)


def test_a_run_without_a_request_of_the_control_proves_nothing() -> None:
    assert ORACLE.judge(history("0.0 run phase steady", control=CONTROL)).answer is Answer.UNKNOWN


def test_a_reply_that_was_cut_off_by_the_end_is_compared_as_far_as_it_came() -> None:
    assert ORACLE.judge(replied("abcd", "")).answer is Answer.HOLDS
    assert ORACLE.judge(replied("abXd", "")).answer is Answer.VIOLATED


def test_a_reply_that_differs_from_its_first_character_says_so() -> None:
    assert "from character 0 on" in ORACLE.judge(replied("Xbcdefghijkl")).reason


# --- what was asked for needs no control ---------------------------------------------------------


def asked(
    reply: str, usage: int | str | None, reason: str = "length", most: int = 12, **more: str
) -> str:
    told = "null" if usage is None else usage
    also = " ".join(f"'{name}={value}'" for name, value in more.items())
    return f"""
        1.0 client sent     r1 tokens_max={most} {also}
        1.2 client tokens   r1 text={reply}
        1.5 client finished r1 finish_reason={reason} done=true usage={told}
    """


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (asked("abcdefghijkl", 13), "got 13 tokens, and asked for 12"),
        (asked("abcdefghijkl", 11), 'was ended for "length" after 11 of 12 tokens'),
        (asked("abcdefghijkl", 12, stop='["hi"]'), "went on past its stop text 'hi'"),
    ],
)
def test_a_reply_that_is_not_what_was_asked_is_wrong_also_without_a_control(
    load: str, why: str
) -> None:
    finding = ORACLE.judge(history(played(load)))
    assert finding.answer is Answer.VIOLATED
    assert why in finding.reason


@pytest.mark.parametrize(
    "load",
    [
        asked("abcdefghijkl", 12),
        asked("abcdefghijkl", None),
        asked("abcdefghijkl", "many"),  # an engine that counts in words is not believed
        asked("abcdefghijkl", 12, stop='["no"]'),
    ],
)
def test_a_reply_that_is_what_was_asked_holds(load: str) -> None:
    assert ORACLE.judge(history(played(load), control=CONTROL)).answer is Answer.HOLDS


def test_a_reply_that_stops_by_itself_may_be_short() -> None:
    load = asked("abcdefghijkl", 11, reason="stop")
    assert ORACLE.judge(history(played(load), control=played(load))).answer is Answer.HOLDS


def test_one_token_too_many_is_wrong_also_when_the_control_has_it() -> None:
    load = asked("abcdefghijklm", 13)
    equal = history(played(load), control=played(load))
    finding = ORACLE.judge(equal)
    assert finding.answer is Answer.VIOLATED
    assert finding.about == ("r1",)


def test_pieces_are_counted_where_the_engine_tells_no_usage() -> None:
    pieces = "".join(f"1.{i} client tokens r1 text=x\n" for i in range(1, 4))
    load = f"1.0 client sent r1 tokens_max=2\n{pieces} 1.9 client broke r1 how=transport"
    assert "got 3 tokens" in ORACLE.judge(history(played(load))).reason
    as_asked = history(played(load.replace("tokens_max=2", "tokens_max=3")), control=CONTROL)
    assert "tokens" not in ORACLE.judge(as_asked).reason
    counted = "1.0 client sent r1 tokens_max=2\n 1.9 client broke r1 how=transport usage=3"
    assert "got 3 tokens" in ORACLE.judge(history(played(counted))).reason
    refused = counted.replace("broke r1 how=transport", "refused r1 status=400")
    assert "tokens" not in ORACLE.judge(history(played(refused), control=CONTROL)).reason


def test_a_context_that_is_full_ends_a_reply_early_in_the_control_too() -> None:
    load = asked("abcdefghijkl", 12, most=16)
    assert ORACLE.judge(history(played(load), control=played(load))).answer is Answer.HOLDS
    whole = asked("abcdefghijkl", 16, most=16)
    short = ORACLE.judge(history(played(load), control=played(whole)))
    assert short.answer is Answer.VIOLATED


def test_what_the_run_itself_asks_is_never_too_long_for_a_context() -> None:
    lone = asked("abcdefg", 7, most=8).replace("r1", "recover/lone")
    assert ORACLE.judge(history(played(lone), control=played(lone))).answer is Answer.VIOLATED


# --- the control's -------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_a_reply_that_ends_for_another_reason_than_the_controls_is_wrong(reason: str) -> None:
    finding = ORACLE.judge(replied("abcdefghijkl", END.replace("length", reason)))
    assert finding.answer is Answer.VIOLATED
    assert f"ended for {reason!r}, in the control 'length'" in finding.reason


def test_tokens_beyond_a_complete_reply_are_not_excused_by_an_error_after_them() -> None:
    broke = "1.5 client broke r1 how=transport"
    assert ORACLE.judge(replied("abcdefghijklZZ", broke)).answer is Answer.VIOLATED
    assert ORACLE.judge(replied("abcdefghijkl", broke)).answer is Answer.HOLDS


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("abc", Answer.HOLDS),  # less than came in the control before that broke
        ("abcdef", Answer.HOLDS),  # more
        ("abX", Answer.VIOLATED),
    ],
)
def test_half_a_reply_is_compared_with_half_a_reply(text: str, answer: Answer) -> None:
    half = CONTROL.replace("abcdefghijkl", "abcd").replace(
        "1.5  client    finished r1  finish_reason=length done=true", "1.5 client broke r1 how=cut"
    )
    broke = "1.5 client broke r1 how=transport"
    assert ORACLE.judge(replied(text, broke, control=half)).answer is answer


def test_a_round_that_was_asked_something_else_is_not_compared() -> None:
    first = "1.0 client sent r1 prompt_sha256=aa\n 1.2 client tokens r1 text=abcX\n" + END
    same = CONTROL.replace("sent     r1", "sent     r1 prompt_sha256=bb")
    assert ORACLE.judge(history(played(first), control=same)).answer is Answer.HOLDS
    same = same.replace("=bb", "=aa")
    assert ORACLE.judge(history(played(first), control=same)).answer is Answer.VIOLATED


def test_a_reply_of_chance_is_not_compared_word_by_word() -> None:
    warm = "1.0 client sent r1 temperature=0.7\n 1.2 client tokens r1 text=abcX\n" + END
    assert ORACLE.judge(history(played(warm), control=CONTROL)).answer is Answer.HOLDS
    cold = warm.replace("0.7", "0.0")
    assert ORACLE.judge(history(played(cold), control=CONTROL)).answer is Answer.VIOLATED


def test_on_a_stack_that_rounds_differently_only_what_was_asked_counts() -> None:
    rounding = replace(SPECIFICATION, deterministic=False)
    other = played(asked("abcX", 12, reason="stop"))
    told = ORACLE.judge(history(other, control=CONTROL, specification=rounding))
    assert told.answer is Answer.HOLDS
    assert told.reason == "3 replies are as long as was asked"
    long = played(asked("abcX", 13))
    assert ORACLE.judge(history(long, control=CONTROL, specification=rounding)).answer is (
        Answer.VIOLATED
    )


# --- the same prompt twice -----------------------------------------------------------------------


def twice(alone: str, among: str, *, deterministic: bool = True) -> Answer:
    load = f"""
        1.0 client sent     r1 prompt_sha256=aa tokens_max=12
        1.2 client tokens   r1 text={alone}
        1.5 client finished r1 finish_reason=length done=true
        1.6 client sent     r2 prompt_sha256=aa tokens_max=12
        1.7 client tokens   r2 text={among}
        1.8 client finished r2 finish_reason=length done=true
    """
    planned = replace(SPECIFICATION, deterministic=deterministic)
    same = history(played(load), control=played(load), specification=planned)
    return ORACLE.judge(same).answer


def test_the_same_prompt_gets_the_same_reply_whatever_the_control_got() -> None:
    assert twice("abcdefghijkl", "abcdefghijkl") is Answer.HOLDS
    assert twice("abcdefghijkl", "abcdefghijkX") is Answer.VIOLATED
    assert twice("abcdefghijkl", "abcdefghijkX", deterministic=False) is Answer.HOLDS


def test_what_was_asked_after_half_a_reply_is_not_known_where_prompts_are_not_told() -> None:
    aborted = "1.3 client finished r0 finish_reason=abort done=true\n"
    second = '2.0 client sent r1\n 2.1 client tokens r1 text="another reply"\n'
    ended = "2.2 client finished r1 finish_reason=length done=true"
    half = "1.0 client sent r0\n 1.2 client tokens r0 text=a\n"
    control = f"{CONTROL}\n 1.0 client sent r0\n 1.2 client tokens r0 text=ab\n"
    control += "1.3 client finished r0 finish_reason=length done=true\n"
    for first, answer in ((aborted, Answer.HOLDS), ("", Answer.VIOLATED)):
        for at in ("2.0", "1.3"):  # later, and in the same moment
            load = half + first + second.replace("2.0", at) + ended
            for later in (
                "",
                "2.5 client sent r0+1\n 3 client finished r0+1 finish_reason=abort\n",
            ):
                told = history(played(f"{load}\n{later if first else ''}"), control=control)
                assert ORACLE.judge(told).answer is answer
