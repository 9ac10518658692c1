"""The parent's side of the trials: a child process with torch, and a bound for every answer.

Pure: the process that uses this imports neither torch nor Triton.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

START_S_MAX = 60.0  # importing torch and Triton on a busy machine
TRIAL_S_MAX = 60.0
STOP_S_MAX = 5.0
ROOT = Path(__file__).parents[2]


class TrialSilent(Exception):
    """The child gave no answer in time, or died: the message says which, and on what."""


@dataclass(frozen=True, slots=True)
class Report:
    """One trial's answer: the error, what the rounding noise allows, or why it crashed."""

    name: str
    error: float = float("nan")
    allowed: float = 0.0
    note: str = ""
    holds: bool = False
    crash: str = ""

    def __str__(self) -> str:
        if self.crash:
            return f"{self.name}: crashed with {self.crash}"
        verdict = "holds" if self.holds else "is WRONG"
        note = f" ({self.note})" if self.note else ""
        return f"{self.name} {verdict}: error {self.error:.3g}, allowed {self.allowed:.3g}{note}"


@dataclass(slots=True)
class TrialChild:
    """A running child. Enter starts it; leaving kills it, whatever it was doing."""

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    root: Path = ROOT  # the checkout whose kernels are tried
    device: str = ""
    names: tuple[str, ...] = ()
    _process: "subprocess.Popen[bytes] | None" = None
    _unread: bytes = b""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kernels.trials"],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), "OMP_NUM_THREADS": "1",
                 "OPENBLAS_NUM_THREADS": "1", **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            greeting = self._answer("its start", START_S_MAX)
        except TrialSilent:
            self._kill()
            raise
        self.device, self.names = str(greeting["device"]), tuple(greeting["names"])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:  # fmt: skip
        self._kill()

    @property
    def ended_with(self) -> int | None:
        """The child's exit status; None while it runs, or before it was started."""
        return self._process.poll() if self._process is not None else None

    def run(self, name: str, within_s: float = TRIAL_S_MAX) -> Report:
        """Run one trial; TrialSilent if no answer came in time. The child is of no use then."""
        pipe = self._pipes()[0]
        pipe.write(f"{name}\n".encode())
        pipe.flush()
        return Report(**self._answer(name, within_s))

    def demand(self, name: str, within_s: float = TRIAL_S_MAX) -> None:
        """AssertionError, with what was measured, unless the trial holds."""
        report = self.run(name, within_s)
        if not report.holds:
            raise AssertionError(str(report))

    def _answer(self, about: str, within_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + within_s
        pipe = self._pipes()[1]
        with selectors.DefaultSelector() as ready:
            ready.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                left_s = deadline - time.monotonic()
                if left_s <= 0 or not ready.select(left_s):
                    raise TrialSilent(f"the trial child said nothing for {within_s} s on {about}")
                piece = os.read(pipe.fileno(), 65_536)
                if not piece:
                    raise TrialSilent(f"the trial child died on {about}; see its stderr")
                self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        process = self._process
        assert process is not None, "enter the child first"
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout

    def _kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_S_MAX)
        for pipe in self._pipes():
            pipe.close()
