"""A few lines of Python as a node's program: the tests' stand-in for a worker."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.child_environment import child_environment
from stack.guardian import Guardian, Launch
from stack.process_table import ProcessId

SLEEP = "import time; time.sleep(100)"
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("deaf", "w").close()
time.sleep(100)
"""
WITH_CHILD = "import os, time; os.fork(); time.sleep(100)"


@dataclass(frozen=True, slots=True)
class Script:
    """Implements stack.node_process.Program. Ready when `flag` exists, or at once without one."""

    guardian: Guardian
    directory: Path
    code: str = SLEEP
    flag: str | None = None
    ports: Sequence[int] = ()

    def start(self, log: Path) -> ProcessId:
        return self.guardian.spawn(
            Launch(
                argv=[sys.executable, "-I", "-S", "-c", self.code],
                environment=child_environment({}),
                directory=self.directory,
                log=log,
            )
        )

    def exit_code(self, process: ProcessId) -> int | None:
        return self.guardian.exit_code(process)

    def ready(self, process: ProcessId) -> bool:
        return process.alive and (self.flag is None or (self.directory / self.flag).exists())
