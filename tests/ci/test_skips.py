"""ci/skips.py: a skip that nobody expected fails, and so does one that no longer happens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ci import skips
from tests.ci.required import ROOT

NO_SKIPS = {"no ", "attach is not Freezable: no freeze on it"}  # a prefix, and a made-up one
JUNIT = """<testsuites><testsuite>
<testcase name="a"/>
<testcase name="b"><skipped type="pytest.skip" message="needs a GPU: none here"/></testcase>
<testcase name="c"><skipped type="pytest.skip" message="needs a GPU: none here"/></testcase>
<testcase name="d"><skipped type="pytest.xfail" message="known"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("allowed", "complaint"),
    [
        ({"needs a GPU": 2}, ""),
        ({}, "2 skipped, which nobody allowed: needs a GPU: none here"),
        ({"needs a GPU": 1}, "expected 1 skips, came 2"),
        ({"needs a GPU": 2, "no freezer": 1}, "expected 1 skips, came 0: /no freezer/"),
    ],
)
def test_each_reason_is_given_as_often_as_expected(
    allowed: dict[str, int], complaint: str, tmp_path: Path
) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text(JUNIT)
    found = skips.complaints(skips.reasons(junit), allowed)
    assert [complaint in one for one in found] == ([True] if complaint else [])


def test_a_run_that_never_came_to_its_end_is_no_run_without_skips(tmp_path: Path) -> None:
    assert skips.main(["tests", str(tmp_path / "absent.xml")]) == 1


def test_the_command_fails_on_an_unexpected_skip(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text(JUNIT)
    command = [sys.executable, str(ROOT / "ci" / "skips.py"), "suites", str(junit)]
    told = subprocess.run(command, timeout=20, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "nobody allowed" in told.stdout


def test_a_run_that_nobody_knows_is_bad_usage(tmp_path: Path) -> None:
    assert skips.main(["no such run", str(tmp_path / "junit.xml")]) == 2


def test_the_allowed_skips_are_counts_of_reasons() -> None:
    allowed = json.loads((ROOT / "ci" / "skips.json").read_text())
    assert {"tests", "suites"} <= set(allowed)
    assert all(count > 0 for reasons in allowed.values() for count in reasons.values())


GIVEN = re.compile(r"""(?:pytest\.skip\(f?|skipif\(.*reason=)"([^"{]+)""")


def given_reasons() -> list[str]:
    """The beginning of each reason for which a test of ours skips."""
    files = [one for one in (ROOT / "tests").rglob("*.py") if one != Path(__file__)]
    return [found for one in files for found in GIVEN.findall(one.read_text())]


def test_what_each_skip_leaves_unproven_is_written_down() -> None:
    tools = [f"no {tool} on this machine" for tool in ("chromium", "allure", "actionlint")]
    reasons = {one: 1 for one in (*given_reasons(), *tools) if one not in NO_SKIPS}
    assert len(reasons) > 8
    assert [line for line in skips.unproven(reasons) if "nobody wrote down" in line] == []


def test_a_reason_that_nobody_explained_is_told_and_counts_are_summed() -> None:
    told = skips.unproven({"a new reason": 2, "Skipped: no g++ to compile with": 3})
    assert told[0].startswith(
        "3 skipped: no g++ to compile with. Left unproven: that our occupancy"
    )
    assert "2 skipped: a new reason. Left unproven: something: nobody wrote" in told[1]
