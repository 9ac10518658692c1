"""Breaks code on purpose, and asks whether a test notices.

Usage: python -m ci.mutate kernels [NAME ...]: mutations written by hand, in a temporary copy.
       python -m ci.mutate judge [--help]: mutants of the verdict code, made by machine.
       python -m ci.mutate engine [NAME ...]: public reports' bugs, and the verdict each must get.
       python -m ci.mutate guards [NAME ...]: a guard switched off, and the suite that needs it.

Exit 0 only if the tests are green on unbroken code and red on what is broken; 1 if too much
survived; 2 for bad usage, or for a mutation that no longer fits the source.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ci.mutants.by_hand import KERNELS, Mutation
from ci.mutants.prover import PROVER

ROOT = Path(__file__).resolve().parents[1]
TEST_S_MAX = 300
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "*.egg-info")
GREEN, RED = 0, 1  # pytest's exit codes; any other is neither


MODULES = ("judge", "engine", "guards")  # each in a module of its own
PARTS = {"kernels": (*KERNELS, *PROVER)}


def main(arguments: Sequence[str]) -> int:
    """Judge the named mutations of a part, or all of them."""
    part, *names = arguments or [""]
    if part in MODULES:
        # Imported only here: what one of them brings in of chaos, the other could not break.
        return int(importlib.import_module(f"ci.mutants.{part}").main(names))
    if part not in PARTS:
        parts = ",".join([*PARTS, *MODULES])
        return complain(f"usage: ci/mutate {{{parts}}} [NAME ...]")
    chosen = [one for one in PARTS[part] if not names or one.name in names]
    unknown = set(names) - {one.name for one in chosen}
    if unknown:
        return complain(f"no mutation {sorted(unknown)}; there are {[m.name for m in PARTS[part]]}")
    with tempfile.TemporaryDirectory(prefix="pdchaos-mutate-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        try:
            require_green(chosen, copy)
            survived = [one.name for one in chosen if not killed(one, copy)]
        except ValueError as error:
            return complain(str(error))
    print(
        f"\n{len(chosen) - len(survived)} of {len(chosen)} killed; survived: {survived or 'none'}"
    )
    return 1 if survived else 0


def require_green(mutations: Sequence[Mutation], copy: Path) -> None:
    """ValueError if tests are red on whole code: what was red before proves nothing."""
    for tests in dict.fromkeys(mutation.tests for mutation in mutations):
        ended = tested(tests, copy)
        if ended != GREEN:
            raise ValueError(f"{' '.join(tests)} ends with {ended} on whole code")


def killed(mutation: Mutation, copy: Path) -> bool:
    """Whether its tests go red when the line is broken; the copy is whole again afterwards."""
    path = copy / mutation.file
    whole = path.read_text()
    if whole.count(mutation.before) != 1:
        raise ValueError(
            f"{mutation.name}: {mutation.file} has its line {whole.count(mutation.before)} times, "
            "expected once; the source has moved on and this mutation has not"
        )
    path.write_text(whole.replace(mutation.before, mutation.after))
    try:
        ended = tested(mutation.tests, copy)
    finally:
        path.write_text(whole)
    print(f"{mutation.name:34s} {'killed' if ended == RED else f'SURVIVED (exit {ended})'}")
    return ended == RED


def tested(tests: tuple[str, ...], copy: Path) -> int:
    """pytest's exit code; -1 for a run that did not end in time."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", *tests]
    ours = {name: text for name, text in os.environ.items() if "PYTEST" not in name}
    environment = {**ours, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(  # noqa: S603 - the tests are named in this file
            command, cwd=copy, env=environment, capture_output=True, timeout=TEST_S_MAX, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return -1


def complain(text: str) -> int:
    print(f"ci/mutate: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
