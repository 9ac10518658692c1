"""Goal: a guard's budget counts from when a strike began to hurt. Method: histories by hand.

A strike hurts from somewhere in its entry on: a busy machine makes an entry long, and then it may
have hurt only in the end. Nobody may be called late who may have been in time.
"""

from __future__ import annotations

import pytest

from chaos.verdict import Outcome
from tests.chaos.one_request import SENT, finished, one
from tests.chaos.table import STRUCK

# waiting_timeout has a budget of 3.0 s; the strike was sent at 1.1 and had entered at 2.1.
SLOW = STRUCK.replace(
    "1.1  fault     struck   S1  bit=true", "2.1 fault struck S1 bit=true entry_s=1"
)


def named(at_s: float, ended_s: float | None = None) -> str:
    guard = f"{at_s} decode-0 guard r1 guard=waiting_timeout why=silence\n"
    return f"{SENT}{guard}{ended_s or at_s} client refused r1 status=504 error=no\n"


@pytest.mark.parametrize(
    ("before", "at_s", "by"),
    [
        (SLOW, 5.1, "waiting_timeout"),  # 3.0 s after it had entered
        (SLOW, 5.2, "error reply 504"),
        (STRUCK, 4.1, "waiting_timeout"),  # 3.0 s after it was sent, and had entered at once
        (STRUCK, 4.2, "error reply 504"),
    ],
)
def test_a_guards_budget_counts_from_the_end_of_a_slow_entry(
    before: str, at_s: float, by: str
) -> None:
    verdict = one(named(at_s), before=before)
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, by)


@pytest.mark.parametrize(
    ("at_s", "ended_s", "by"),
    [
        (4.9, 4.9, "waiting_timeout"),  # it must have hurt by then: nobody knows how long before
        (2.0, 5.0, "waiting_timeout"),
        (2.0, 5.1, "error reply 504"),  # its own word came 3.1 s before the end
    ],
)
def test_a_guard_that_spoke_during_the_entry_has_its_budget_from_its_word_on_at_the_latest(
    at_s: float, ended_s: float, by: str
) -> None:
    slower = SLOW.replace(
        "2.1 fault struck S1 bit=true entry_s=1", "8.5 fault struck S1 bit=true entry_s=7.4"
    )
    patient = slower.replace("9.0 ", "9.9 ")
    verdict = one(named(at_s, ended_s), before=patient)
    assert (verdict.outcome, verdict.by) == (Outcome.CAUGHT, by)


def test_a_slow_entry_makes_no_request_late_that_was_sent_after_it() -> None:
    sent = SENT.replace("1.0 ", "2.5 ").replace("1.05 ", "2.55 ")
    in_time, late = (named(at_s).replace(SENT, sent) for at_s in (5.5, 5.6))
    assert one(in_time, before=SLOW).by == "waiting_timeout"
    assert one(late, before=SLOW).by == "error reply 504"


@pytest.mark.parametrize(("at_s", "caught"), [(3.5, True), (4.5, False)])
def test_a_guard_that_spoke_before_the_last_token_counts_from_the_strike_on(
    at_s: float,
    caught: bool,  # noqa: FBT001 - a row of a table
) -> None:
    """The control was long over by then: it does not put this guard's clock off either."""
    halves = f"1.2 client tokens r1 text=abcdef\n {at_s} client tokens r1 text=ghijkl\n"
    guard = f"{at_s - 0.1} decode-0 guard r1 guard=waiting_timeout why=silence\n"
    verdict = one(SENT + halves + guard + finished(at_s))
    assert (verdict.by == "waiting_timeout") is caught
