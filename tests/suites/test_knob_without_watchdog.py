"""The incident with nobody on guard: the suite is red, and says where the requests hang."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.suites.suite_run import run_suites

# A single CTA of each multiprocessor of 188 waits, and two that they wait for never start.
PLAN = re.compile(
    r"spin_all: context \d+, batch 1, heads 4, SGLANG_SM120_MMA_TARGET_CTAS=512, "
    r"splits 95, grid 190, residency 188: deadlock"
)


@pytest.mark.parametrize(
    ("off", "verdicts"),
    [
        # The health page knows of progress, and turns red: an operator can see it.
        ("step_watchdog", ("SURFACED",)),
        # Every page is green, as it was then. What waits behind the agents may show in a queue.
        ("step_watchdog,progress_health", ("SILENT", "SURFACED")),
    ],
)
def test_without_the_watchdog_agents_hang_in_decode_and_the_log_has_the_plan(
    off: str, verdicts: tuple[str, ...], tmp_path: Path
) -> None:
    ran = run_suites(tmp_path, "-k", "without_the_clamp", "--guards-off", off)

    assert ran.exit_code == 1, ran.output
    assert not ran.passed
    (text,) = ran.failures.values()
    found = re.search(r"\b(\w+), not allowed: ", text)
    assert found, text
    assert found[1] in verdicts, text
    assert re.search(r"(?m)^E? *stage +decode$", text), text
    assert re.search(r"(?m)^E? *requests .*\blong0\.2\b", text), text
    attached = [one.read_text() for one in (tmp_path / "allure-results").glob("*attachment*")]
    assert any(PLAN.search(one) for one in attached), "the kernel's plan is in no attachment"
