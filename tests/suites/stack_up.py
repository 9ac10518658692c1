"""`python -m chaos up` in a process of its own: what it told, what it started, how it ended."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parents[2]
LIFE_S = 180.0  # killed after this, so that reading what it tells is bounded


@dataclass(frozen=True, slots=True)
class StackUp:
    process: subprocess.Popen[str]
    told: str

    def address(self, word: str) -> str:
        """The first URL that it told behind this word."""
        found = re.search(rf"(?m)^  {word} +(http://\S+)", self.told)
        assert found, f"no {word} in\n{self.told}"
        return found[1]

    @property
    def ports(self) -> list[int]:
        return [int(port) for port in re.findall(r"http://127\.0\.0\.1:(\d+)", self.told)]

    def end(self, timeout_s: float) -> int:
        """Ctrl-C, as a shell sends it to one process; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout_s)


@contextmanager
def stack_up(*options: str) -> Generator[StackUp]:
    command = [sys.executable, "-m", "chaos", "up", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        killer = Timer(LIFE_S, process.kill)
        killer.start()
        try:
            yield StackUp(process, _told(process))
        finally:
            killer.cancel()
            process.kill()


def _told(process: subprocess.Popen[str]) -> str:
    """All that it says until it is up."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("up;"):
            return "".join(lines)
    raise AssertionError(f"ended before it was up: {lines}")
