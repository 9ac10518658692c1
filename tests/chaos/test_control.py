"""Goal: the control is an experiment, too, and no reference when it was not tolerated."""

from __future__ import annotations

import pytest

from chaos.judge import judge
from chaos.verdict import CONTROL as CONTROL_NAME
from chaos.verdict import Outcome, Verdict
from tests.chaos.one_request import RIGHT, SENT, finished
from tests.chaos.table import CONTROL, RECOVERED, history, played, strike

WELL = played(SENT + RIGHT + finished(1.5))
HEAD = CONTROL.partition("1.5  client    finished r1")[0]
LONG = f"{HEAD} {{}}\n {RECOVERED}"


def judged(control: str) -> tuple[Verdict, ...]:
    return judge(history(WELL, control=control, strikes=[strike()]))


@pytest.mark.parametrize(
    ("control", "outcome"),
    [
        (LONG.format("1.5 client refused r1 status=503"), Outcome.CAUGHT),
        (LONG.format("9.0 client finished r1 finish_reason=length done=true"), Outcome.SILENT),
        (LONG.format(""), Outcome.SILENT),  # it hung
        (LONG.format("1.5 client finished r1 done=true"), Outcome.WRONG),
        (CONTROL.replace("finished recover/lone", "refused recover/lone"), Outcome.NOT_RECOVERED),
        (CONTROL.replace("2.9  resource  reading  prefill-0/pages  value=0",
                         "2.9 resource reading prefill-0/pages value=1"), Outcome.LEAKED),
        (CONTROL + "1.3 decode-0 guard r1 guard=waiting_timeout", Outcome.FALSE_ALARM),
    ],
)  # fmt: skip
def test_a_control_that_was_not_tolerated_has_its_own_verdict_and_decides_nothing(
    control: str, outcome: Outcome
) -> None:
    first, second = judged(control)
    assert (first.strike, first.outcome) == (CONTROL_NAME, outcome)
    assert (first.unpromised, second.unpromised) == (True, False)
    assert (second.strike, second.outcome) == ("S1", Outcome.UNKNOWN)
    assert f"the control is no reference: it was {outcome.value}" in second.reason


def test_of_a_control_that_is_unknown_only_the_reason_is_told() -> None:
    (verdict,) = judged(CONTROL + "1.3 client lag load_generator lag_s=0.9")
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.reason.startswith("in the control, our load generator was late by 0.90 s")
    assert verdict.of_machine
    (verdict,) = judged(CONTROL + "1.3 run tool_error S why=ours")
    assert not verdict.of_machine


def test_a_control_in_which_our_own_client_gave_up_is_no_reference() -> None:
    (verdict,) = judged(LONG.format("1.5 client cancelled r1"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "in the control, r1 was not answered: cancelled" in verdict.reason


def test_a_control_whose_recovery_nobody_looked_at_may_be_compared_with() -> None:
    """What a run is compared with is looked for when it is compared."""
    unread = "\n".join(line for line in CONTROL.splitlines() if "resource" not in line)
    (verdict,) = judged(unread)
    assert verdict.outcome is Outcome.TOLERATED


def test_a_fault_free_run_is_what_its_suite_made_its_promise_for() -> None:
    (verdict,) = judge(history(CONTROL, control=CONTROL))
    assert not verdict.unpromised


def test_a_node_that_died_by_itself_is_named_before_all_else() -> None:
    died = "1.3 supervisor died decode-0 part=engine signal=SIGSEGV last_words='bad room'"
    table = played(f"{SENT}{died}\n 1.4 client refused r1 status=503")
    (verdict,) = judge(history(table, control=CONTROL, strikes=[strike()]))
    assert verdict.outcome is Outcome.CAUGHT
    assert verdict.reason.startswith(
        "decode-0 (engine) died by itself, signal SIGSEGV: bad room; r1 caught"
    )
    (death,) = [e for e in history(table).events if e.kind.value == "died"]
    assert death.seq in verdict.evidence


@pytest.mark.parametrize(
    ("how", "told"),
    [("exit_code=1", "died by itself, exit code 1;"), ("", "died by itself, nobody knows how;")],
)
def test_how_a_node_died_is_told_as_far_as_it_is_known(how: str, told: str) -> None:
    table = played(f"{SENT} 1.3 supervisor died decode-0 {how}\n {RIGHT} {finished(1.5)}")
    (verdict,) = judge(history(table, control=CONTROL, strikes=[strike()]))
    assert told in verdict.reason
