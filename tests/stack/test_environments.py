"""Goal: an engine's environment is whole or it is not there, and what is missing has a name.

Method: a stand-in for uv on PATH makes the folder and installs nothing.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stack.environments import PYTHON, Environment, InstallFailed, NotInstalled, install

UV = """#!/bin/sh
if [ "$1" = venv ]; then
    for folder; do :; done
    mkdir -p "$folder/bin"
    ln -sf {python} "$folder/bin/python"
fi
if [ "$1" = pip ] && [ -n "{refuses}" ]; then
    echo "no such pin" >&2
    exit 3
fi
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setenv("PDCHAOS_ENGINES", str(tmp_path / "engines"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "requirements.txt").write_text("toy==1\n")
    with_uv(tmp_path)
    return Environment("toy", "1", PYTHON, tmp_path / "requirements.txt", ("json",), ())


def with_uv(folder: Path, *, refuses: bool = False) -> None:
    text = UV.format(python=sys.executable, refuses="yes" if refuses else "")
    (folder / "uv").write_text(text)
    (folder / "uv").chmod(0o755)


def said(environment: Environment) -> list[str]:
    lines: list[str] = []
    install(environment, lines.append)
    return lines


def test_what_was_never_installed_is_refused_with_the_command_that_helps(toy: Environment) -> None:
    with pytest.raises(NotInstalled, match="found nothing; run `python -m stack install toy`"):
        toy.require()


def test_half_an_installation_is_not_taken_for_a_whole_one(toy: Environment) -> None:
    toy.folder.mkdir(parents=True)
    with pytest.raises(NotInstalled, match="half an installation"):
        toy.require()


def test_it_is_installed_once_and_then_left_alone(toy: Environment) -> None:
    assert said(toy)[-1] == "toy 1 is ready"
    assert toy.require() == toy.python
    assert said(toy) == [f"toy 1 is installed: {toy.folder}"]


def test_other_pins_are_another_version(toy: Environment) -> None:
    install(toy, lambda _: None)
    toy.requirements.write_text("toy==2\n")
    with pytest.raises(NotInstalled, match="another version"):
        toy.require()
    assert said(toy)[-1] == "toy 1 is ready"


def test_a_library_that_is_missing_is_named_with_its_remedy(toy: Environment) -> None:
    missing = ("lib_toy_verbs", "install toy-verbs")
    needs = replace(toy, imports=("lib_toy_verbs",), missing=(missing,))
    with pytest.raises(InstallFailed, match="lib_toy_verbs is missing: install toy-verbs"):
        install(needs, lambda _: None)
    assert not needs.installed()


def test_pins_of_another_python_are_refused_before_anything_is_made(toy: Environment) -> None:
    with pytest.raises(InstallFailed, match=r"its pins are for Python 2\.7, this is 3\."):
        install(replace(toy, made_for="2.7"), lambda _: None)
    assert not toy.folder.exists()


def test_a_step_that_fails_is_named_with_its_last_words(toy: Environment, tmp_path: Path) -> None:
    with_uv(tmp_path, refuses=True)
    with pytest.raises(
        InstallFailed, match=r"step 'install' failed with exit code 3:\nno such pin"
    ):
        install(toy, lambda _: None)
    assert not toy.installed()
