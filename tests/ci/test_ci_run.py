""".ci/run: what it runs is what README.md tells its readers to run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.ci.required import ROOT

RUN = ROOT / ".ci" / "run"
LIMIT_S = 20
COMMAND = "python3 -m pip install -c ci/constraints.txt -e '.[test]' && python3 -m pytest {}"
SGLANG = "python3 -m stack install sglang && python3 -m pytest {}"


def blocks(text: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def readme_command(readme: str, what: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Runs .ci/run's own function over this README."""
    (tmp_path / "README.md").write_text(readme)
    function = re.search(r"^readme_command\(\) \{.*?^\}", RUN.read_text(), re.MULTILINE | re.DOTALL)
    assert function is not None
    script = f"set -euo pipefail\n{function[0]}\nreadme_command '{what}'"
    return subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("what", "command"),
    [("suites/", COMMAND), ("tests/", COMMAND), ("suites/ --stack sglang -m quick", SGLANG)],
)
def test_the_readme_has_this_command_once_and_ci_finds_it(
    what: str, command: str, tmp_path: Path
) -> None:
    readme = (ROOT / "README.md").read_text()
    wanted = command.format(what)
    assert [block.strip() for block in blocks(readme)].count(wanted) == 1
    assert readme_command(readme, what, tmp_path).stdout.strip() == wanted


@pytest.mark.parametrize(
    "readme", ["", f"{COMMAND.format('tests/')}\n{COMMAND.format('tests/')} -k slow\n" * 2]
)
def test_a_readme_without_exactly_one_command_stops_ci(readme: str, tmp_path: Path) -> None:
    refused = readme_command(readme, "tests/", tmp_path)
    assert refused.returncode != 0
    assert "must have one command for tests/" in refused.stderr


def test_ci_has_no_pytest_command_of_its_own() -> None:
    code = [line.partition("#")[0] for line in RUN.read_text().splitlines()]
    assert [line for line in code if "pytest" in line and "grep" not in line] == []


def test_a_missing_tool_fails_in_ci_instead_of_skipping() -> None:
    text = RUN.read_text()
    assert 'required="toxiproxy,chromium,allure${WITH_SGLANG:+,sglang}"' in text
    assert "export PDCHAOS_REQUIRE=$required" in text


def test_the_suites_are_played_behind_both_routers_and_as_a_newcomer_has_them() -> None:
    played = re.findall(r"^play_suites (\S+)", RUN.read_text(), re.MULTILINE)
    assert played == ["suites", "second-router", "newcomer"]
    known = json.loads((ROOT / "ci" / "skips.json").read_text())
    assert set(played) <= set(known)


@pytest.mark.parametrize(
    "script", [RUN, *(ROOT / "ci" / name for name in ("check", "setup", "report", "constrain"))]
)
def test_a_script_is_strict_executable_and_well_formed(script: Path) -> None:
    assert "set -euo pipefail" in script.read_text()
    assert script.stat().st_mode & 0o100
    parsed = subprocess.run(["bash", "-n", str(script)], timeout=LIMIT_S, check=False)
    assert parsed.returncode == 0


def test_constraints_pin_each_package_to_one_version_and_name_no_host() -> None:
    lines = (ROOT / "ci" / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[\w.]+", line)] == []
    assert len({line.partition("==")[0] for line in lines}) == len(lines)


def test_check_stops_at_the_first_failure_and_names_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ci", tmp_path / "ci")
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "asked: $*"; case $* in *check*.) exit 1;; esac\n')
    python.chmod(0o755)
    told = subprocess.run(
        [str(tmp_path / "ci" / "check")],
        env={"PATH": "/usr/bin:/bin", "PYTHON": str(python)},
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert "asked: -m ruff format --check ." in told.stderr
    assert "pyright" not in told.stdout + told.stderr
