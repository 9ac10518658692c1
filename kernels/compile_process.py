"""The front end in a process of its own, with a bound: its death is an answer, not ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernels.compiled_launch import CompiledLaunch, read

SAID_MAX = 300  # characters of a child's last words


class Died(Exception):
    """The process that was to compile ended without an answer."""


def compile_in_child(arguments: Sequence[str], within_s: float) -> list[CompiledLaunch]:
    """What `kernels.frontend` makes of these arguments.

    Raises:
        ValueError: what the user gave cannot be launched.
        Died: it crashed, ended by itself, or took too long.
    """
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    root = Path(__file__).parents[1]
    environment["PYTHONPATH"] = os.pathsep.join([str(root), environment.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory(prefix="pdchaos-prove-") as folder:
        out = Path(folder) / "answer.json"
        child = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", "kernels.frontend", str(out), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        said = _said(child, within_s)
        if not out.exists():
            raise Died(_cause(child.returncode, said))
        answer = json.loads(out.read_text(encoding="utf-8"))
    if "refused" in answer:
        raise ValueError(answer["refused"])
    return read(json.dumps(answer["launches"]))


def _said(child: subprocess.Popen[str], within_s: float) -> str:
    try:
        return child.communicate(timeout=within_s)[1]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Died(f"it did not compile within {within_s:g} s") from None


def _cause(code: int, said: str) -> str:
    if code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    last = (said.strip().splitlines() or [""])[-1][:SAID_MAX]
    if last:
        return f"its process ended with exit code {code}: {last}"
    return f"its source ended the process with exit code {code}, before anything was compiled"
