"""Experiments that need torch, run in a bounded child; pytest's own process imports neither."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
EXPERIMENTS_S_MAX = 300.0  # some 20 s alone on the machine
Answers = dict[str, Any]


@cache
def _answers(asked: str) -> Answers:
    script, *names = asked.split()
    child = subprocess.run(
        [sys.executable, str(HERE / script), *names],
        cwd=ROOT,
        env={
            **os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"
        },
        capture_output=True,
        text=True,
        timeout=EXPERIMENTS_S_MAX,
        check=False,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr[-2000:]
    answers: Answers = {}
    for line in child.stdout.splitlines():
        answers |= json.loads(line)
    return answers


@pytest.fixture
def answers() -> Callable[[str], Answers]:
    """What the experiments of a script beside this file came to, by name; of all of them, or of
    those that are named behind it."""
    return _answers
