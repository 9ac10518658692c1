"""What our workflows promise, as functions from a parsed workflow to complaints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

Yaml = Mapping[str, Any]
# Each of these can bring a stranger's code to the runner.
FORK_TRIGGERS = frozenset(
    {"pull_request", "pull_request_target", "issue_comment", "workflow_run", "fork"}
    | {"pull_request_review", "pull_request_review_comment", "repository_dispatch"}
)
ALWAYS = re.compile(r"^\$?\{?\{?\s*always\(\)\s*\}?\}?$")
PINNED = re.compile(r"^(?:\./.+|[\w.-]+/[\w./-]+@(?:v\d+\.\d+\.\d+|[0-9a-f]{40}))$")


def load(text: str) -> Yaml:
    """YAML 1.1 reads the key `on` as True; here it is "on" again."""
    told = cast("dict[Any, Any]", yaml.safe_load(text))
    return {("on" if name is True else str(name)): value for name, value in told.items()}


def read(path: Path) -> Yaml:
    return load(path.read_text(encoding="utf-8"))


def triggers(workflow: Yaml) -> set[str]:
    told = workflow.get("on", {})
    return {told} if isinstance(told, str) else set(told)


def jobs(workflow: Yaml) -> Iterator[tuple[str, Yaml]]:
    yield from cast("Mapping[str, Yaml]", workflow["jobs"]).items()


def steps(job: Yaml) -> list[Yaml]:
    return cast("list[Yaml]", job.get("steps", []))


def is_self_hosted(job: Yaml) -> bool:
    return "self-hosted" in str(job.get("runs-on", ""))


def fork_complaints(workflow: Yaml) -> Iterator[str]:
    """No trigger by which a fork's code would run on a machine of ours."""
    for name, job in jobs(workflow):
        if is_self_hosted(job):
            for trigger in sorted(triggers(workflow) & FORK_TRIGGERS):
                yield f"{name}: {trigger} brings a fork's code to a self-hosted runner"
            if "workflow_call" in triggers(workflow):
                yield f"{name}: whoever calls this decides what reaches a self-hosted runner"
            if "fork == false" not in str(job.get("if", "")):
                yield f"{name}: does not ask whether it runs in a fork"


def time_complaints(workflow: Yaml) -> Iterator[str]:
    """Job, step, command: each ends before what it stands in, so that the inner one reports."""
    for name, job in jobs(workflow):
        limit_s = 60 * float(job.get("timeout-minutes", 0))
        if not limit_s:
            yield f"{name}: a job without a time-out"
        spent_s = 0.0
        for step in steps(job):
            step_s = 60 * float(step.get("timeout-minutes", 0))
            spent_s += step_s
            if "run" in step:
                yield from _step_complaints(f"{name}: {step.get('name')}", step, step_s)
        if spent_s >= limit_s:
            yield f"{name}: its steps may take {spent_s:g} s, the job only {limit_s:g} s"


def _step_complaints(where: str, step: Yaml, step_s: float) -> Iterator[str]:
    if not step_s:
        yield f"{where}: a step without a time-out"
    limits = [float(v) for n, v in step.get("env", {}).items() if n.endswith("_LIMIT_S")]
    wanted = 3 if step.get("env", {}).get("PDCHAOS_WITH_SGLANG") == "" else 4
    if ".ci/run" in step["run"] and len(limits) != wanted:
        yield f"{where}: set-up, tests and each suites run need a limit, there are {len(limits)}"
    if sum(limits) >= step_s:
        yield f"{where}: its commands may take {sum(limits):g} s, the step only {step_s:g} s"


def always_complaints(workflow: Yaml) -> Iterator[str]:
    """What was found is uploaded, and what was left is cleaned, also after a failure."""
    for name, job in jobs(workflow):
        for step in steps(job):
            uploads = "upload-artifact" in step.get("uses", "")
            cleans = "ci/clean" in step.get("run", "")
            if (uploads or cleans) and not ALWAYS.match(str(step.get("if", ""))):
                yield f"{name}: {step.get('name')}: not `if: always()`"
        if not any("upload-artifact" in step.get("uses", "") for step in steps(job)):
            yield f"{name}: uploads nothing"
        if is_self_hosted(job) and "ci/clean" not in steps(job)[-1].get("run", ""):
            yield f"{name}: its last step does not clean the runner"


def pin_complaints(workflow: Yaml) -> Iterator[str]:
    for name, job in jobs(workflow):
        for step in steps(job):
            if "uses" in step and not PINNED.match(step["uses"]):
                yield f"{name}: {step['uses']} is not pinned to a version"


def right_complaints(workflow: Yaml) -> Iterator[str]:
    if workflow.get("permissions") != {"contents": "read"}:
        yield "more than the right to read"
