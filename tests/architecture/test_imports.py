"""The arrows between the folders: import-linter keeps them, and notices each one that is turned."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, ROOT, sources

LIMIT_S = 60
LINT = "from importlinter.cli import lint_imports_command as lint; lint()"
CONTRACTS: dict[str, str] = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
}


def broken(root: Path) -> tuple[list[str], str]:
    """The ids of the contracts that lint-imports finds broken below this root; and what it said."""
    child = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache"],
        cwd=root,
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.sub(r"\x1b\[[\d;]*m", "", child.stdout + child.stderr)
    assert ("Contracts:" in said, child.returncode in (0, 1)) == (True, True), said
    return [one for one, name in CONTRACTS.items() if f"{name} BROKEN" in said], said


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Our packages and their contracts, to be hurt."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pyc*"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_is_kept() -> None:
    found, said = broken(ROOT)
    assert found == [], said


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("chaos/run.py", "import stack.plan", "chaos-alone"),
        ("chaos/oracles/new.py", "from faults import client", "chaos-alone"),
        ("faults/new.py", "import stack.plan", "faults-and-stack"),
        ("stack/new.py", "import faults.client", "faults-and-stack"),
        ("kernels/new.py", "import chaos.event", "kernels-alone"),
        ("stack/new.py", "import kernels.reference", "engine-only"),
        ("faults/new.py", "from kernels import reference", "engine-only"),
        ("chaos/event.py", "import chaos.history", "layers"),
        ("chaos/judge.py", "import chaos.run", "layers"),
        ("chaos/run.py", "import chaos.pytest_plugin", "layers"),
    ],
)
def test_an_arrow_that_is_turned_breaks_its_contract(
    copy: Path, module: str, line: str, contract: str
) -> None:
    with (copy / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    found, said = broken(copy)
    assert contract in found, said


def test_every_contract_has_been_broken_above() -> None:
    mark = test_an_arrow_that_is_turned_breaks_its_contract.pytestmark[0]  # type: ignore[attr-defined] # pytest adds it
    assert {row[2] for row in mark.args[1]} == set(CONTRACTS)


def test_the_engine_may_import_kernels_and_the_doors_may_import_all(copy: Path) -> None:
    for module, line in (
        ("stack/engine/new.py", "import kernels.reference"),
        ("chaos/commands/new.py", "import stack.plan, faults.client"),
    ):
        (copy / module).write_text(f'"""Allowed."""\n\n{line}\n')
    found, said = broken(copy)
    assert found == [], said


def test_nothing_imports_tests_or_suites() -> None:
    guilty = [
        f"{source.name}: {module}"
        for source in sources(ROOT, (*PACKAGES, "ci"))
        for module in _imported(source.tree)
        if module.partition(".")[0] in ("tests", "suites")
    ]
    assert guilty == []


def test_suites_know_faults_stack_and_chaos_and_kernels_only_through_their_child() -> None:
    guilty = [
        f"{source.name}: {module}"
        for source in sources(ROOT, ("suites",))
        for module in _imported(source.tree)
        if module.partition(".")[0] in ("tests", "kernels", "ci")
        and module != "kernels.trials.child"  # runs kernels in a process of their own
    ]
    assert guilty == []


def _imported(tree: ast.Module) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found
