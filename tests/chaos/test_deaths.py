"""Goal: what a worker takes with it that died by itself is nobody's. Method: histories by hand."""

from __future__ import annotations

import pytest

from chaos.clock import ns
from chaos.deaths import Deaths
from chaos.judge import judge
from chaos.verdict import Outcome, Verdict
from tests.chaos.one_request import SENT, finished
from tests.chaos.table import BEGIN_NS, CONTROL, RECOVERED, STRUCK, history, played, strike

ELSEWHERE = "S1 on decode-1"  # r1 is on decode-0
DIED = "3.0 supervisor died decode-0 part=engine exit_code=70 last_words=boom\n"
FAILED = (
    "3.1 router guard r1 guard=router_error_reply\n3.1 client refused r1 status=502 error=gone\n"
)
WORKS_AGAIN = "0.9 decode-0 stage r0 stage=decode attempt=3\n"
TIDIED = "3.1 decode-0 guard r1 guard=abort_propagation\n"


def judged(load: str, struck: bool = True) -> dict[str, Verdict]:  # noqa: FBT001, FBT002 - a row
    before = STRUCK.replace(" S1 ", f" '{ELSEWHERE}' ") if struck else ""
    strikes = [strike(ELSEWHERE)] if struck else []
    told = history(played(load, before, RECOVERED), control=CONTROL, strikes=strikes)
    return {one.strike: one for one in judge(told)}


def test_an_innocent_request_that_went_with_its_worker_is_charged_to_no_strike() -> None:
    verdicts = judged(SENT + DIED + FAILED)
    stray = verdicts["fault-free"]
    assert verdicts[ELSEWHERE].outcome is Outcome.TOLERATED
    assert (stray.outcome, stray.by, stray.about) == (
        Outcome.CAUGHT,
        "router_error_reply",
        ("r1",),
    )
    assert (stray.unpromised, stray.together) == (True, ())
    assert stray.reason.endswith("which no strike could touch")
    assert stray.reason.startswith("decode-0 (engine) died by itself, exit code 70: boom; r1")


@pytest.mark.parametrize(
    "died",
    [
        "",  # nobody died
        DIED.replace("decode-0", "decode-1"),  # which had nothing to do with it
        DIED.replace("3.0", "3.5"),  # longer after its end than a death goes unnoticed
        DIED.replace("3.0", "0.4")
        + "0.9 decode-0 stage r0 stage=decode attempt=3\n",  # and is back
    ],
)
def test_an_innocent_request_that_failed_otherwise_is_charged_to_what_hurt_beside_it(
    died: str,
) -> None:
    verdicts = judged(died + SENT + FAILED)
    assert set(verdicts) == {ELSEWHERE}
    assert verdicts[ELSEWHERE].outcome is Outcome.CAUGHT


def test_a_death_that_is_written_down_a_moment_after_the_request_ended_counts() -> None:
    assert "fault-free" in judged(SENT + FAILED + DIED.replace("3.0", "3.35"))


def test_a_guard_that_ended_an_innocent_request_is_a_finding_also_beside_a_death() -> None:
    guard = FAILED.replace("router guard r1 guard=router_error_reply", "decode-0 guard r1 guard=g")
    verdict = judged(SENT + DIED + guard)[ELSEWHERE]
    assert verdict.outcome is Outcome.FALSE_ALARM
    assert verdict.stage == "admit", "where the request stood that it ended"


def test_who_tidies_up_after_a_death_that_no_strike_caused_condemned_nobody() -> None:
    dead = judged(SENT + DIED + TIDIED + FAILED, struck=False)["fault-free"]
    assert (dead.outcome, dead.by) == (Outcome.CAUGHT, "router_error_reply")
    alive = judged(SENT + TIDIED + FAILED, struck=False)["fault-free"]
    assert (alive.outcome, alive.by) == (Outcome.FALSE_ALARM, "abort_propagation")


def test_a_request_that_ended_well_beside_a_death_is_no_matter() -> None:
    well = SENT + DIED + "1.2 client tokens r1 text=abcdefghijkl\n" + finished(1.5)
    assert judged(well)[ELSEWHERE].outcome is Outcome.TOLERATED


def test_a_guard_that_spoke_before_the_death_may_have_caused_it() -> None:
    later = DIED.replace("3.0", "3.2")
    stray = judged(SENT + TIDIED + FAILED + later, struck=False)["fault-free"]
    assert stray.outcome is Outcome.FALSE_ALARM


def test_a_guard_that_spoke_in_the_moment_of_the_death_may_know_of_it() -> None:
    deaths = Deaths(history(played(SENT + DIED)))
    assert deaths.before("decode-0", BEGIN_NS + ns(3.0))
    assert not deaths.before("decode-0", BEGIN_NS + ns(3.0) - 1)


def test_what_a_worker_did_in_the_moment_of_its_death_does_not_bring_it_back() -> None:
    last = WORKS_AGAIN.replace("0.9", "3.0")
    later = SENT.replace("1.0 ", "3.1 ").replace("1.05", "3.2")
    told = history(played(DIED + last + later))
    assert Deaths(told).under(told.lives["r1"], told.end_ns)
    back = history(played(DIED + WORKS_AGAIN.replace("0.9", "3.05") + later))
    assert not Deaths(back).under(back.lives["r1"], back.end_ns)
