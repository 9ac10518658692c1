"""`ci/mutate engine`: plays each seed's suite in a copy; it must go red, with the right verdict."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.commands.judge_file import expectation
from chaos.history_file import read
from chaos.judge import judge
from chaos.verdict import Outcome, Verdict
from ci.mutants.engine_seeds import SEEDS
from ci.mutants.seed import Seed

ROOT: Final = Path(__file__).resolve().parents[2]
PLAY_S_MAX: Final = 240
RED: Final = 1  # pytest's exit code
LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "*.egg-info")


@dataclass(frozen=True, slots=True)
class Came:
    """What became of one seed."""

    exit_code: int  # -1: it did not end in time
    verdicts: tuple[Verdict, ...]

    def is_told(self, seed: Seed) -> bool:
        """Red, and for the right reason."""
        (expected,) = expectation(seed.says)
        told = [one for one in self.verdicts if one.outcome is not Outcome.TOLERATED]
        return self.exit_code == RED and any(expected.accepts(one) for one in told)

    def __str__(self) -> str:
        text = "; ".join(str(one) for one in self.verdicts) or "no history"
        return text if self.exit_code == RED else f"{text} (exit {self.exit_code}, not red)"


def main(names: Sequence[str]) -> int:
    """Those of these names, or all of them. 0: every one was told; 1: one was not; 2: bad usage."""
    chosen = [one for one in SEEDS if not names or one.name in names]
    if unknown := set(names) - {one.name for one in chosen}:
        known = ", ".join(one.name for one in SEEDS)
        print(f"ci/mutate engine: no seed {sorted(unknown)}; there are: {known}", file=sys.stderr)
        return 2
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="pdchaos-seeds-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        for seed in chosen:
            try:
                came = played(seed, copy, Path(folder) / "report")
            except ValueError as stale:
                print(f"ci/mutate engine: {seed.name}: {stale}", file=sys.stderr)
                return 2
            print(f"{seed.name}\n    {seed.reports}\n    expected {seed.says}; came {came}")
            missed += [] if came.is_told(seed) else [seed.name]
    print(f"\n{len(chosen) - len(missed)} of {len(chosen)} told; missed: {missed or 'none'}")
    return 1 if missed else 0


def played(seed: Seed, copy: Path, report: Path) -> Came:
    """The seed's suite on the seeded engine; the copy is whole again afterwards."""
    shutil.rmtree(report, ignore_errors=True)
    wholes = [(copy / one.file, one.apply(copy)) for one in seed.edits]
    try:
        ended = tested((*seed.words, "--report-dir", str(report)), copy)
        if seed.noticed_by:
            ended = tested(seed.noticed_by, copy)
    finally:
        for path, whole in reversed(wholes):  # a file that has two edits was whole before the first
            path.write_text(whole, encoding="utf-8")
    files = sorted((report / "histories").glob("*.jsonl"))
    return Came(ended, tuple(one for file in files for one in judge(read(file))))


def tested(words: Sequence[str], copy: Path) -> int:
    ours = {name: text for name, text in os.environ.items() if "PYTEST" not in name}
    environment = {**ours, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", *words]
    try:
        return subprocess.run(  # noqa: S603 - the words stand in engine_seeds.py
            command, cwd=copy, env=environment, capture_output=True, timeout=PLAY_S_MAX, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return -1
