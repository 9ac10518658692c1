"""Goal: a known bug is green only with the very verdict that was written down."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.known_bug import KnownBug, settled
from chaos.verdict import Outcome, Verdict

ROOT = Path(__file__).parents[2]
BUG = KnownBug("sglang", "SILENT", "nobody tells of it")
SILENT = Verdict("1: freeze", Outcome.SILENT, "r1 hung")
CAUGHT = Verdict("1: freeze", Outcome.CAUGHT, "r1 ended", by="waiting_timeout", after_s=3.0)
LINES = """
import pytest
from chaos.pytest_plugin import VERDICTS
from chaos.verdict import Outcome, Verdict

@pytest.mark.known_bug(stack="{stack}", verdict="SILENT", what="nobody tells of it")
def test_it(request):
    request.node.stash[VERDICTS] = [Verdict("1: freeze", Outcome.{seen}, "why")]
    {ends}
"""


def test_it_is_settled_by_the_very_verdict_and_a_failure_for_it() -> None:
    assert settled(BUG, [SILENT], passed=False, accused=True) is None


def test_another_verdict_is_news() -> None:
    wrong = settled(BUG, [CAUGHT], passed=False, accused=True)
    assert wrong is not None
    assert "now it is CAUGHT by waiting_timeout in 3.00 s" in wrong


def test_the_same_verdict_by_another_alert_is_news() -> None:
    page = Verdict("1: freeze", Outcome.SURFACED, "r1 hung", by="health_page", after_s=3.0)
    known = KnownBug("sglang", "SURFACED", "only its page tells", by="health_page")
    assert settled(known, [page], passed=False, accused=True) is None
    other = Verdict("1: freeze", Outcome.SURFACED, "r1 hung", by="metrics_unreadable", after_s=3.0)
    wrong = settled(known, [other], passed=False, accused=True)
    assert wrong is not None
    assert "expected SURFACED by health_page" in wrong


def test_one_strike_of_several_with_another_verdict_is_news() -> None:
    assert settled(BUG, [SILENT, CAUGHT], passed=False, accused=True) is not None


def test_a_test_that_passes_is_news() -> None:
    wrong = settled(BUG, [CAUGHT], passed=True, accused=False)
    assert wrong is not None
    assert "it passes now" in wrong


def test_a_test_of_ours_that_broke_settles_nothing() -> None:
    assert settled(BUG, [SILENT], passed=False, accused=False) is not None
    assert settled(BUG, [], passed=False, accused=True) is not None


@pytest.mark.parametrize("verdict", ["SILNT", "UNKNOWN", "NO_OP"])
def test_a_verdict_that_does_not_exist_or_accuses_nobody_is_refused(verdict: str) -> None:
    with pytest.raises(ValueError, match="verdict is one of"):
        KnownBug("sglang", verdict, "what")


def test_what_happens_is_one_line() -> None:
    with pytest.raises(ValueError, match="in one line"):
        KnownBug("sglang", "SILENT", "two\nlines")


@pytest.mark.parametrize(
    ("stack", "seen", "ends", "outcome"),
    [
        ("embedded", "SILENT", "assert False", "xfailed"),
        ("embedded", "CAUGHT", "assert False", "failed"),
        ("embedded", "SILENT", "pass", "failed"),
        ("embedded", "SILENT", "raise RuntimeError", "failed"),
        ("sglang", "SILENT", "assert False", "failed"),
        ("sglang", "SILENT", "pass", "passed"),
    ],
)
def test_pytest_reports_it_as_an_expected_failure_on_its_own_kind_of_stack(
    tmp_path: Path, stack: str, seen: str, ends: str, outcome: str
) -> None:
    (tmp_path / "test_toy.py").write_text(LINES.format(stack=stack, seen=seen, ends=ends))
    plugin = ["-p", "no:pd_chaos", "-p", "chaos.pytest_plugin"]  # installed or not
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rx", "-p", "no:cacheprovider", *plugin, "."],
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.fspath(ROOT)},
    )
    assert done.stdout.strip().splitlines()[-1].startswith(f"1 {outcome}"), done.stdout
    assert outcome != "xfailed" or "nobody tells of it" in done.stdout
