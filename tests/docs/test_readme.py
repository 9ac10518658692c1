"""Goal: what the README says can be done can be done. Method: everything in it is executed."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random
from types import ModuleType
from typing import cast

import pytest

import kernels.__main__
from chaos.__main__ import COMMANDS
from chaos.accusers import everyone
from chaos.contracts import Fault
from chaos.judge import judge
from chaos.verdict import Outcome
from tests.chaos.table import CONTROL, history, played
from tests.docs.page import ROOT, Page, imports_of, missing, modules
from tests.faults.toy_stack import ToyStack

README = Page((ROOT / "README.md").read_text(encoding="utf-8"))
LISTED = ("chaos", "faults", "kernels", "stack")
WRITE = ("Write a suite", "Write a fault", "Write an oracle")
SOON_S = 120.0


def pytest_of(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments, "--collect-only", "-q", "-p"]
    return subprocess.run(
        [*command, "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SOON_S,
        check=False,
    )


def code_of(title: str) -> str:
    """The one Python block of a section, below the imports that the section points at."""
    section = README.section(title)
    (block,) = section.blocks("python")
    pointed_at = re.search(r"imports are those\s+of\s+`([^`]+)`", section.text)
    assert pointed_at, f"{title}: the reader is not told what to import"
    return f"{imports_of(ROOT / pointed_at[1])}\n\n{block}"


def module_of(title: str, folder: Path) -> ModuleType:
    file = folder / f"readme_{title.rsplit(maxsplit=1)[-1]}.py"
    file.write_text(code_of(title), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # a dataclass looks its own module up
    spec.loader.exec_module(module)
    return module


def test_no_python_block_is_left_out() -> None:
    told = [README.section(title).blocks("python") for title in WRITE]
    assert [block for blocks in told for block in blocks] == README.blocks("python")


def test_the_suite_is_collected_in_a_folder_of_its_own_by_the_installed_plugin(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_of_a_stranger.py").write_text(code_of(WRITE[0]), encoding="utf-8")
    collected = pytest_of(["--strict-markers", "."], tmp_path)
    assert collected.returncode == 0, collected.stdout + collected.stderr
    assert "test_of_a_stranger.py::test_kv_transfer_stalled_in_the_middle" in collected.stdout


@pytest.fixture
def fault(tmp_path: Path) -> Fault:
    return cast("Fault", module_of(WRITE[1], tmp_path).Blink("decode-0"))


def test_the_fault_bites_and_heals(fault: Fault) -> None:
    toy = ToyStack()
    assert isinstance(toy, fault.needs)
    with fault.inject(toy.as_stack(), Random(0)) as proof:
        assert proof.read().bit
        assert toy.ice
    assert toy.deeds == ["freeze decode-0 engine signal", "thaw decode-0 engine signal"]


def test_the_fault_heals_when_the_body_raises(fault: Fault) -> None:
    toy = ToyStack()
    with pytest.raises(KeyError), fault.inject(toy.as_stack(), Random(0)):
        raise KeyError
    assert toy.deeds[-1] == "thaw decode-0 engine signal"


def test_the_fault_does_not_claim_what_did_not_happen(fault: Fault) -> None:
    with fault.inject(ToyStack(obeys=False).as_stack(), Random(0)) as proof:
        assert not proof.read().bit


REFUSED = "1.0 client sent r1\n 1.2 client refused r1 status=503"


@pytest.mark.parametrize(
    ("table", "outcome", "why"),
    [
        (CONTROL, Outcome.TOLERATED, "none of 1 requests was affected"),
        (played(REFUSED), Outcome.WRONG, "r1 was refused"),
        ("0.0 run phase steady\n 3.0 run phase done", Outcome.UNKNOWN, "no request was sent"),
    ],
)
def test_the_oracle_makes_a_verdict_of_histories_by_hand(
    table: str, outcome: Outcome, why: str, tmp_path: Path
) -> None:
    oracle = module_of(WRITE[2], tmp_path).NobodyIsRefused()
    (verdict,) = judge(history(table), everyone([oracle]))
    assert (verdict.outcome, why in verdict.reason) == (outcome, True), verdict
    (without,) = judge(history(played(REFUSED)))
    assert without.outcome is Outcome.CAUGHT  # an honest error, as far as we know


def test_every_path_that_is_named_exists() -> None:
    assert len(README.paths) > 20
    assert missing(README.paths, ROOT) == []


def test_every_subcommand_that_is_named_exists() -> None:
    assert README.subcommands("chaos") >= {"doctor", "judge"}
    assert README.subcommands("chaos") <= set(COMMANDS)
    assert README.subcommands("kernels") <= set(kernels.__main__.COMMANDS)


PYTESTS = [line for line in README.commands if line.startswith("pytest ")]


@pytest.mark.parametrize("line", PYTESTS)
def test_every_pytest_command_selects_something(line: str) -> None:
    collected = pytest_of(shlex.split(line)[1:], ROOT)
    assert collected.returncode == 0, collected.stdout + collected.stderr
    assert "::" in collected.stdout


def test_the_two_commands_name_what_there_is() -> None:
    two = [line for line in README.commands if "pip install" in line]
    assert [line.split()[-1] for line in two] == ["suites/", "tests/"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in two:
        named = re.search(r"\.\[(\w+)\]", line)
        assert named, line
        assert named[1] in extras["optional-dependencies"]


def test_the_map_has_every_folder_that_holds_modules() -> None:
    told = set(README.section("Map").paths)
    ours = set[str]().union(*(modules(ROOT, folder) for folder in LISTED))
    assert ours - told == set()


def test_a_page_that_lies_is_noticed() -> None:
    page = Page("`no/such.py`, ![a](b.svg)\n\n```sh\nci/nothing --all\n```\n## A\n`x`\n## B\n")
    assert page.paths == ["no/such.py", "ci/nothing", "b.svg"]
    assert missing([*page.paths, "chaos/"], ROOT) == page.paths
    assert page.section("A").words == ["x"]
    assert Page("`python -m chaos dance`").subcommands("chaos") == {"dance"}
