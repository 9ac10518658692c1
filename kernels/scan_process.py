"""The static scan in a process of its own, since the interpreter's process cannot compile."""

from __future__ import annotations

import os
import subprocess
import sys
from types import TracebackType
from typing import Self

from kernels.frontend import Scanned, read_answer


class ScanProcess:
    """Starts scanning on entry; killed on exit if it has not ended."""

    def __init__(self, arguments: tuple[str, ...], within_s: float) -> None:
        self._arguments = arguments
        self._within_s = within_s
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        self._child = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", "kernels.frontend", *self._arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self

    def result(self) -> list[Scanned] | str:
        """What each kernel waits on; or, in words, why the scan failed."""
        assert self._child is not None
        try:
            out, err = self._child.communicate(timeout=self._within_s)
        except subprocess.TimeoutExpired:
            return f"it did not end within {self._within_s} s"
        if self._child.returncode != 0:
            return (err.strip().splitlines() or ["it said nothing"])[-1]
        return read_answer(out)

    def kill(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        if self._child is not None:
            self._child.communicate(timeout=self._within_s)
