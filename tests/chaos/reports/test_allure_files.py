"""environment.properties and executor.json, as Allure reads them."""

from __future__ import annotations

import json
from pathlib import Path

from chaos.reports.allure_files import executor, write_environment, write_executor

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SERVER_URL": "https://git.example",
    "GITHUB_REPOSITORY": "them/theirs",
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_NUMBER": "12",
    "GITHUB_WORKFLOW": "cpu",
    "GITHUB_REF_NAME": "main",
    "GITHUB_TOKEN": "hunter2",
}


def test_facts_come_first_and_the_environment_is_filtered(tmp_path: Path) -> None:
    environ = {**GITHUB, "SGLANG_X": "1", "HOME": "/x"}
    write_environment(tmp_path, {"stack under test": "1p1d\nsmg"}, environ)
    lines = (tmp_path / "environment.properties").read_text().splitlines()
    assert lines[0] == "stack_under_test=1p1d\\nsmg"
    assert "SGLANG_X=1" in lines
    assert not any("hunter2" in line or line.startswith("HOME") for line in lines)


def test_under_github_actions_the_report_links_back_to_its_build(tmp_path: Path) -> None:
    assert write_executor(tmp_path, GITHUB)
    written = json.loads((tmp_path / "executor.json").read_text())
    assert written["buildUrl"] == "https://git.example/them/theirs/actions/runs/77"
    assert written["buildOrder"] == 12
    assert "hunter2" not in json.dumps(written)


def test_elsewhere_there_is_no_executor(tmp_path: Path) -> None:
    assert not write_executor(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


def test_an_odd_run_number_does_not_end_the_run() -> None:
    assert executor({**GITHUB, "GITHUB_RUN_NUMBER": "twelve"})["buildOrder"] == 0
