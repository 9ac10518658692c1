"""Goal: a verdict names the worst, and how many more there are. Method: histories by hand."""

from __future__ import annotations

import pytest

from chaos.judge import judge
from chaos.verdict import Outcome
from tests.chaos.one_request import PINNED, QUIET, RIGHT, SENT, STUCK, finished, one
from tests.chaos.table import CONTROL, RECOVERED, STRUCK, history, played, strike


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, "; and 1 more"), (8, "; and 3 more")])
def test_what_is_missing_is_named_up_to_five(count: int, more: str) -> None:
    failed = "".join(f"3.{n} fault tool_error S1 why=no{n}\n" for n in range(count))
    reason = one(SENT + RIGHT + finished(1.5) + failed).reason
    assert reason.endswith(f"no4{more}")
    assert reason.count("the tool itself failed") == min(count, 5)


def test_who_hung_untold_is_named_where_another_one_was_told() -> None:
    control = CONTROL + "".join(
        f"1.0 client sent r{n}\n 1.5 client finished r{n} finish_reason=length done=true\n"
        for n in (2, 3)
    )
    quick = "1.0 client sent r3\n 1.5 client finished r3 finish_reason=length done=true\n"
    refused = quick.replace("finished r3 finish_reason=length done=true", "refused r3 status=503")
    moved = "5.0 signal reading prefill-0/inflight value=0\n"  # the alert is over
    for third in (quick, refused):  # neither of them hung
        load = SENT + "15.0 client sent r2\n" + third + STUCK + moved
        after = RECOVERED.replace("20.", "40.").replace("21.0", "41.0")
        before = STRUCK.replace("9.0 ", "30.0 ")
        table = history(
            played(load, before, after), control=control, strikes=[strike()], alerts=[PINNED]
        )
        (verdict,) = judge(table)
        assert verdict.outcome is Outcome.SILENT
        assert "no alert fired for r2" in verdict.reason


def test_a_wrong_reply_that_was_seen_nowhere_went_wrong_at_its_end() -> None:
    verdict = one("1.0 client sent r1\n" + RIGHT.replace("def", "XXX") + finished(1.5))
    assert (verdict.outcome, verdict.stage) == (Outcome.WRONG, "ending")


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, "; and 1 more"), (7, "; and 2 more")])
def test_the_worst_five_requests_are_told(count: int, more: str) -> None:
    sent = "".join(f"1.0 client sent r{n}\n" for n in range(1, count + 1))
    ended = sent.replace("1.0", "1.5").replace("sent", "finished")
    well = ended.replace("\n", " finish_reason=length done=true\n")
    table = played(sent + QUIET)
    control = played(sent + well + QUIET)
    (verdict,) = judge(history(table, control=control, strikes=[strike()], alerts=[PINNED]))
    assert verdict.reason.count(" hung after ") == min(count, 5)
    assert f"s{more}; no alert fired" in verdict.reason
