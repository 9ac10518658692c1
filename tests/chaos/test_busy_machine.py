"""Goal: a busy machine is told from a sick stack. Method: whole histories by hand."""

from __future__ import annotations

import pytest

from chaos.verdict import Outcome
from tests.chaos.one_request import GUARD, REFUSED, RIGHT, SENT, STUCK, finished, one
from tests.chaos.table import RECOVERED, STRUCK

LAG = "1.6 client lag load_generator lag_s=0.7\n"
UNREAD = RECOVERED.replace("reading  prefill-0/pages  value=0", "unreadable prefill-0")


@pytest.mark.parametrize(
    ("load", "after"),
    [
        (SENT + RIGHT + finished(1.5) + LAG, RECOVERED),
        (SENT + GUARD + REFUSED + LAG, RECOVERED),
        (SENT + RIGHT + finished(5.5) + LAG, RECOVERED),  # late, and nobody told: it was so too
        (SENT + STUCK + RIGHT + finished(5.5) + LAG, RECOVERED),
        (SENT + RIGHT + finished(1.5), UNREAD),
    ],
    ids=["unaffected", "caught", "late", "surfaced", "unread"],
)
def test_what_only_a_busy_machine_keeps_us_from_says_so(load: str, after: str) -> None:
    verdict = one(load, after=after)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.of_machine


@pytest.mark.parametrize(
    ("load", "before", "after"),
    [
        (SENT + LAG, STRUCK, RECOVERED),
        (SENT + RIGHT.replace("abc", "xyz") + finished(1.5) + LAG, STRUCK, RECOVERED),
        (
            SENT + GUARD + REFUSED + LAG,
            STRUCK,
            RECOVERED.replace("pages  value=0", "pages value=1"),
        ),
        (
            SENT + RIGHT + finished(1.5) + LAG + "3.0 fault tool_error S1 why=ours\n",
            STRUCK,
            RECOVERED,
        ),
    ],
    ids=["hung", "wrong", "leaked", "our own failure"],
)
def test_a_machine_does_not_excuse_what_it_cannot_have_done(
    load: str, before: str, after: str
) -> None:
    verdict = one(load, before=before, after=after)
    assert verdict.outcome is Outcome.UNKNOWN
    assert not verdict.of_machine


def test_a_verdict_that_accuses_is_never_the_machines() -> None:
    assert one(SENT).outcome is Outcome.SILENT
    assert not one(SENT).of_machine
