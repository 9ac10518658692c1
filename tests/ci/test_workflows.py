"""The workflows keep their promises, and each promise would be missed if it were broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.ci import workflow as promise
from tests.ci.required import ROOT

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
Promise = Callable[[promise.Yaml], Iterator[str]]
PROMISES: tuple[Promise, ...] = (
    promise.fork_complaints,
    promise.time_complaints,
    promise.always_complaints,
    promise.pin_complaints,
    promise.right_complaints,
)


def test_there_is_one_workflow_without_and_one_with_a_gpu() -> None:
    assert [file.stem for file in FILES] == ["cpu", "gpu"]
    hosted = {
        file.stem: [promise.is_self_hosted(job) for _, job in promise.jobs(promise.read(file))]
        for file in FILES
    }
    assert hosted == {"cpu": [False], "gpu": [True]}


def test_others_may_call_the_workflow_that_needs_no_gpu() -> None:
    cpu = promise.triggers(promise.read(FOLDER / "cpu.yml"))
    assert cpu == {"push", "pull_request", "workflow_call"}


@pytest.mark.parametrize("kept", PROMISES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", [file.name for file in FILES])
def test_a_workflow_keeps_its_promise(name: str, kept: Promise) -> None:
    assert list(kept(promise.read(FOLDER / name))) == []


@pytest.mark.parametrize(
    ("name", "before", "after", "kept", "complaint"),
    [
        ("gpu", "  workflow_dispatch:", "  pull_request:", "fork", "pull_request brings"),
        ("gpu", "  workflow_dispatch:", "  pull_request_target:", "fork", "_target brings"),
        ("gpu", "  workflow_dispatch:", "  workflow_run:", "fork", "workflow_run brings"),
        ("gpu", "  workflow_dispatch:", "  workflow_call:", "fork", "whoever calls"),
        ("gpu", "fork == false", "fork == true", "fork", "in a fork"),
        ("cpu", "runs-on: ubuntu-24.04", "runs-on: self-hosted", "fork", "pull_request brings"),
        ("gpu", "timeout-minutes: 85", "timeout-minutes: 70", "time", "the job only"),
        ("gpu", "    timeout-minutes: 85\n", "", "time", "a job without"),
        ("gpu", "        timeout-minutes: 70\n", "", "time", "a step without"),
        ("gpu", "timeout-minutes: 70", "timeout-minutes: 50", "time", "the step only"),
        ("gpu", '          PDCHAOS_TESTS_LIMIT_S: "1200"\n', "", "time", "there are 2"),
        ("gpu", "        if: always()\n        uses", "        uses", "always", "not `if: always"),
        ("gpu", "        if: always()\n        run", "        run", "always", "not `if: always"),
        ("gpu", "if: always()\n        uses", "if: failure()\n        uses", "always", "not `if"),
        ("gpu", "python3 ci/clean.py", "echo kept", "always", "does not clean"),
        ("cpu", "actions/upload-artifact", "actions/cache", "always", "uploads nothing"),
        ("cpu", "actions/checkout@v4.2.2", "actions/checkout@v4", "pin", "not pinned"),
        ("cpu", "contents: read", "contents: write", "right", "more than"),
    ],
)
def test_a_workflow_that_breaks_its_promise_is_complained_about(
    name: str, before: str, after: str, kept: str, complaint: str
) -> None:
    text = (FOLDER / f"{name}.yml").read_text()
    assert before in text
    broken = promise.load(text.replace(before, after))
    found = list(getattr(promise, f"{kept}_complaints")(broken))
    assert any(complaint in one for one in found), found
