"""A guard is switched off, and the suites must notice: red, with exactly the expected verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.suites.suite_run import run_suites


@dataclass(frozen=True, slots=True)
class Control:
    select: str
    guard: str
    verdicts: tuple[str, ...]  # what the suites must say without the guard
    count: int  # how many experiments are about this guard
    stages: str = r"\w+"  # where the worst request stood


CONTROLS = (
    Control("stalled", "prefill_inflight_watchdog", ("SURFACED", "SILENT"), 3, "transfer|handover"),
    # Another guard may end it after all: then it keeps the promise, and is not the expected one.
    Control("disconnect", "abort_propagation", ("LEAKED", "CAUGHT", "TOLERATED"), 11),
    Control("sticky", "sticky_sessions", ("MISROUTED",), 3),
)


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.guard)
def test_without_its_guard_a_suite_is_red_and_says_why(control: Control, tmp_path: Path) -> None:
    ran = run_suites(tmp_path, "-vv", "-k", control.select, "--guards-off", control.guard)

    assert ran.exit_code == 1, ran.output
    assert not ran.passed, f"passed without {control.guard}: {ran.passed}"
    assert len(ran.failures) == control.count, ran.output
    for test, text in ran.failures.items():
        _check_text(test, text, control)
        assert re.search(rf"(?m)::{re.escape(test)} FAILED, \w+", ran.output), "told as it ended"


def _check_text(test: str, text: str, control: Control) -> None:
    found = re.search(r"\b(\w+), not (?:allowed|expected): ", text)
    assert found, f"{test}: no verdict in\n{text}"
    assert found[1] in control.verdicts, f"{test} ended {found[1]}\n{text}"
    for word in ("strike", "verdict", "requests", "stage", "after", "signal", "evidence"):
        assert re.search(rf"(?m)^E? *{word} +\S", text), f"{test}: no line {word!r} in\n{text}"
    stages = "not known" if found[1] == "TOLERATED" else control.stages  # nobody was affected
    assert re.search(rf"(?m)^E? *stage +({stages})$", text), f"{test}: not there\n{text}"
    assert "play.py" not in text, f"{test}: how we judge is shown, and not only what\n{text}"
    assert re.search(rf"again +pytest '.*{re.escape(test)}'.* --guards-off {control.guard}", text)
