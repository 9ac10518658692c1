"""`python -m chaos doctor`: only what is required and missing makes it fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.__main__ import main
from chaos.commands import doctor, symptom
from chaos.commands.symptom import Symptom

HERE = Symptom("engine", lambda: "1.2.3", "pip install engine", required=True)
AWAY = Symptom("browser", lambda: "", "ci/setup browser")
LOST = Symptom("router", lambda: None, "pip install router", required=True)


def look(monkeypatch: pytest.MonkeyPatch, *symptoms: Symptom) -> None:
    monkeypatch.setattr(doctor, "SYMPTOMS", symptoms)
    monkeypatch.delenv("PDCHAOS_REQUIRE", raising=False)


def test_what_is_here_and_what_is_absent_is_told_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look(monkeypatch, HERE, AWAY)
    assert main(["doctor"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["ok", "engine", "1.2.3"]
    assert second.split() == ["absent", "browser", "ci/setup", "browser"]


def test_something_required_that_is_missing_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look(monkeypatch, HERE, LOST)
    assert main(["doctor"]) == 1
    assert "MISSING  router" in capsys.readouterr().out


def test_anything_can_be_required(monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch, HERE, AWAY)
    assert main(["doctor", "--require", "browser"]) == 1


def test_the_environment_may_require_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch, HERE, AWAY)
    monkeypatch.setenv("PDCHAOS_REQUIRE", "browser")
    assert main(["doctor"]) == 1


def test_requiring_what_nobody_knows_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look(monkeypatch, HERE)
    assert main(["doctor", "--require", "bowser"]) == 2
    assert capsys.readouterr().err == (
        "chaos doctor: --require: nothing is called bowser; known: engine\n"
    )


def test_a_gpu_is_what_the_driver_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"

    def only_this(_name: str) -> str:
        return str(tool)

    monkeypatch.setattr(symptom, "program", only_this)
    tool.write_text("#!/bin/sh\nprintf 'NVIDIA H200, 9.0\\nNVIDIA H200, 9.0\\n'\n")
    tool.chmod(0o755)
    assert symptom.gpu() == "NVIDIA H200, 9.0; NVIDIA H200, 9.0"
    tool.write_text("#!/bin/sh\necho no driver >&2\nexit 9\n")
    assert symptom.gpu() == ""


def test_a_toxiproxy_that_does_not_answer_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOXIPROXY_URL", "http://127.0.0.1:1")
    assert symptom.toxiproxy() == ""


def test_a_package_that_nobody_installed_is_not_here() -> None:
    assert symptom.package("no-such-package-as-this") == ""
    assert symptom.package("pytest") == pytest.__version__
