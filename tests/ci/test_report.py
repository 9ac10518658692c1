"""ci/report: a real pytest run becomes a page in which a browser finds verdicts and pictures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ci.required import ROOT, program

LIMIT_S = 100
SUITE = """
import dataclasses
import pytest
from chaos.reports import allure_report
from chaos.reports.failure import failure_text
from chaos.verdict import BROKEN, NotProven, Outcome
from tests.chaos.reports.hand_written import hung

@pytest.mark.parametrize("name", [one.name for one in Outcome])
def test_strike(name, tmp_path):
    history, verdict = hung()
    verdict = dataclasses.replace(verdict, outcome=Outcome[name])
    file = tmp_path / "history.jsonl"
    file.write_text("{}\\n")
    allure_report.label(history)
    allure_report.attach(history, [verdict], file, {"log of decode-0": "token=hunter2 listening"})
    text = failure_text(history, [verdict], file, "pytest again")
    raise (NotProven if verdict.outcome in BROKEN else AssertionError)(text)

def test_of_our_own_error():
    raise RuntimeError("not a verdict")

def test_without_the_ability():
    pytest.skip("attach is not Freezable: no freeze on it")
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program("allure")
    program("chromium")
    folder = tmp_path_factory.mktemp("results")
    suite = tmp_path_factory.mktemp("suite") / "test_suite.py"
    suite.write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:pd_chaos"]
    child = subprocess.run(
        [*command, str(suite), f"--alluredir={folder}", f"--rootdir={suite.parent}"],
        env={**_without_addopts(), "PYTHONPATH": str(ROOT)},
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "12 failed, 1 skipped" in child.stdout, child.stdout + child.stderr
    return folder


def _without_addopts() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}


def _page(results: Path, tmp_path: Path, hash_: str) -> str:
    """What the browser shows at this place of the report, as text without tags."""
    dom = tmp_path / "dom.html"
    made = _report(results, "--output", tmp_path / "html", "--page", hash_, "--dom", dom)
    assert made.returncode == 0, made.stderr
    body = dom.read_text().partition("<body")[2]
    return re.sub(r"<script.*?</script>|<[^>]+>", " ", body, flags=re.DOTALL)


def _report(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "ci" / "report"), *map(str, arguments)]
    return subprocess.run(command, timeout=LIMIT_S, capture_output=True, text=True, check=False)


def test_every_category_has_its_test_and_none_is_left_over(results: Path, tmp_path: Path) -> None:
    shown = _page(results, tmp_path, "#categories")
    wanted = [one["name"] for one in json.loads((ROOT / "ci" / "categories.json").read_text())]
    missing = [name for name in wanted if name not in shown and "not on this machine" not in name]
    assert missing == []
    assert "Product errors" not in shown


def test_a_failed_test_shows_its_verdict_and_its_timeline(results: Path, tmp_path: Path) -> None:
    assert _report(results, "--output", tmp_path / "first").returncode == 0
    pages = (tmp_path / "first" / "data" / "test-results").glob("*.json")
    silent = next(page.stem for page in pages if "test_strike[SILENT]" in page.read_text())
    shown = _page(results, tmp_path, f"#{silent}")
    assert "SILENT, not allowed: r1 had not ended" in shown
    assert re.search(r"timeline\s+image/svg\+xml", shown)
    assert "hunter2" not in "".join(p.read_text() for p in results.glob("*-attachment.txt"))


def test_a_screenshot_is_a_picture(results: Path, tmp_path: Path) -> None:
    picture = tmp_path / "report.png"
    assert _report(results, "--output", tmp_path / "html", "--screenshot", picture).returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("make", "complaint"),
    [("nothing", "expected a folder of Allure results"), ("empty", "no test wrote there")],
)
def test_a_folder_without_results_is_one_clear_line(
    make: str, complaint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    if make == "empty":
        folder.mkdir()
    refused = _report(folder)
    assert refused.returncode == 2
    assert complaint in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
