"""Runs a part of the suites in a pytest of its own, and reads what became of it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[2]
RUN_S = 420.0  # ten times what the largest selection takes on an idle machine


@dataclass(frozen=True, slots=True)
class SuiteRun:
    exit_code: int
    passed: tuple[str, ...]
    failures: dict[str, str]  # test -> the whole text of its failure
    skipped: tuple[str, ...]
    report: Path
    output: str

    @property
    def histories(self) -> list[Path]:
        return sorted((self.report / "histories").glob("*.jsonl"))


def run_suites(report: Path, *options: str, workers: int = 0) -> SuiteRun:
    """`pytest suites/ OPTIONS` from the repository's root, bounded; in parallel with workers."""
    parallel = ("-n", str(workers)) if workers else ("-p", "no:xdist")
    junit = report / "junit.xml"
    command = [
        *(sys.executable, "-m", "pytest", "suites/", "-q", *parallel),
        *("--report-dir", str(report), "--alluredir", str(report / "allure-results")),
        *(f"--junitxml={junit}", *options),
    ]
    # What our own pytest was told (-n 2, where its results go) is not meant for this one.
    environment = {name: text for name, text in os.environ.items() if "PYTEST" not in name}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    # Written by the pytest that we just ran: nothing foreign is parsed.
    cases = list(ET.parse(junit).getroot().iter("testcase")) if junit.exists() else []  # noqa: S314 - as said
    return SuiteRun(
        exit_code=done.returncode,
        passed=tuple(_name(case) for case in cases if not len(_outcomes(case))),
        failures={_name(case): _failure(case) for case in cases if _failure(case)},
        skipped=tuple(_name(case) for case in cases if case.find("skipped") is not None),
        report=report,
        output=done.stdout + done.stderr,
    )


def _name(case: ET.Element) -> str:
    return case.get("name", "")


def _outcomes(case: ET.Element) -> list[ET.Element]:
    return [one for one in case if one.tag in {"failure", "error", "skipped"}]


def _failure(case: ET.Element) -> str:
    found = [one for one in case if one.tag in {"failure", "error"}]
    return "\n".join(f"{one.get('message', '')}\n{one.text or ''}" for one in found)
