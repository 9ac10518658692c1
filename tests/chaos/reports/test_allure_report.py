"""What Allure is told: three labels, the picture, the history, and no secret."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaos.history import History
from chaos.reports import allure_report
from tests.chaos.reports.hand_written import Table, hung, specification


@dataclass
class Heard:
    """Stands for the module `allure`: remembers what it was told."""

    labels: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    attached: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    @property
    def dynamic(self) -> Heard:
        return self

    def epic(self, *names: str) -> None:
        self.labels += [("epic", name) for name in names]

    def feature(self, *names: str) -> None:
        self.labels += [("feature", name) for name in names]

    def story(self, *names: str) -> None:
        self.labels += [("story", name) for name in names]

    def parameter(self, name: str, value: str) -> None:
        self.labels.append((name, value))

    def attach(self, body: str, name: str, _type: str, extension: str) -> None:
        self.attached[name] = (body, extension)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    allure = Heard()

    def module(_name: str) -> Heard:
        return allure

    monkeypatch.setattr(allure_report, "import_module", module)
    monkeypatch.setattr(allure_report, "find_spec", module)
    return allure


def test_epic_is_the_stack_feature_the_stage_and_story_the_fault(heard: Heard) -> None:
    allure_report.label(hung()[0])
    assert heard.labels == [
        ("epic", "embedded 1p1d smg"),
        ("stack", "embedded 1p1d smg"),
        ("feature", "transfer"),
        ("story", "stall the writer on prefill-0"),
    ]


def test_what_plays_no_experiment_has_an_epic_of_its_own(heard: Heard) -> None:
    allure_report.file_under("kernels")
    assert heard.labels == [("epic", "kernels")]


def test_an_experiment_without_a_strike_is_labelled_as_one(heard: Heard) -> None:
    spec = specification()
    free = Table().history(type(spec)(spec.name, 1, spec.stack, "steady", 1, spec.budgets))
    allure_report.label(free)
    assert heard.labels == [
        ("epic", "embedded 1p1d smg"),
        ("stack", "embedded 1p1d smg"),
        ("feature", "fault-free"),
    ]


def test_picture_verdicts_history_and_texts_are_attached_without_secrets(
    heard: Heard, tmp_path: Path
) -> None:
    history, verdict = hung()
    file = tmp_path / "history.jsonl"
    file.write_text('{"why": "token=hunter2"}\n')
    allure_report.attach(
        history, [verdict], file, {"log of decode-0": "Bearer hunter2 ready", "router.env": ""}
    )
    assert list(heard.attached) == ["timeline", "verdicts", "history", "log of decode-0"]
    assert heard.attached["timeline"][0].startswith("<svg")
    assert "SILENT in 6.00 s" in heard.attached["verdicts"][0]
    assert heard.attached["history"][1] == "jsonl"
    assert "hunter2" not in str(heard.attached)


def test_without_allure_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(allure_report, "find_spec", nothing)
    history: History = hung()[0]
    allure_report.label(history)
    allure_report.attach(history, [], Path("there is no such file"), {})
