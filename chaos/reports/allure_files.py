"""The two files beside Allure's results that say where a run came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from chaos.reports.redaction import allowed_environment


def write_environment(results: Path, facts: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """`environment.properties`: facts about the run, then the environment that may be shown."""
    lines = [f"{_key(name)}={_value(value)}" for name, value in facts.items()]
    lines += [
        f"{_key(name)}={_value(value)}" for name, value in allowed_environment(environ).items()
    ]
    results.mkdir(parents=True, exist_ok=True)
    (results / "environment.properties").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_executor(results: Path, environ: Mapping[str, str]) -> bool:
    """`executor.json`, so that a report links back to its build. True when there is one.

    Source: Allure's executor format; the variables are those that GitHub Actions documents.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return False
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(executor(environ), indent=2, sort_keys=True)
    (results / "executor.json").write_text(text + "\n", encoding="utf-8")
    return True


def executor(environ: Mapping[str, str]) -> dict[str, str | int]:
    """What built this report, from the environment of a GitHub Actions job."""
    server = environ.get("GITHUB_SERVER_URL", "").rstrip("/")
    repository = environ.get("GITHUB_REPOSITORY", "")
    number = environ.get("GITHUB_RUN_NUMBER", "0")
    run = f"{server}/{repository}/actions/runs/{environ.get('GITHUB_RUN_ID', '')}"
    return {
        "name": "GitHub Actions",
        "type": "github",
        "url": f"{server}/{repository}/actions",
        "buildOrder": int(number) if number.isdigit() else 0,
        "buildName": f"{environ.get('GITHUB_WORKFLOW', 'workflow')} #{number}",
        "buildUrl": run,
        "reportName": f"pd-chaos on {environ.get('GITHUB_REF_NAME', 'an unnamed ref')}",
    }


def _key(name: str) -> str:
    """A properties key ends at the first blank, `=` or `:`."""
    return "".join("_" if one in " =:#!\\" else one for one in name)


def _value(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")
