"""The run's end of the zygote: ask it for a worker, and for how a worker ended."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stack.child_environment import child_environment
from stack.guardian import ROOT, Guardian, Launch
from stack.log_tail import last_lines
from stack.process_table import ProcessId

LOAD_MAX_S: Final = 60.0  # importing torch takes 2 s here; a cold disk or a busy machine, minutes
ANSWER_MAX_S: Final = 5.0


class NurseryLost(Exception):
    """The zygote died or does not answer; its log says why."""


class Nursery:
    """Started at once, waited for only when the first worker is wanted."""

    def __init__(self, guardian: Guardian, directory: Path) -> None:
        self._log = directory / "zygote.log"
        path = directory / "zygote.sock"
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(path))
        self._door.listen(1)
        self._socket: socket.socket | None = None
        self._pending = b""
        self._lock = threading.Lock()
        self._guardian = guardian
        self.process = guardian.spawn(
            Launch(
                argv=[sys.executable, "-P", "-m", "stack.zygote", str(path)],
                environment=child_environment({"PYTHONPATH": os.fspath(ROOT)}),
                directory=directory,
                log=self._log,
            )
        )

    def fork(self, config: Mapping[str, Any], log: Path) -> ProcessId:
        """A worker that begins with this configuration (the JSON of a WorkerConfig)."""
        answer = self._ask(op="fork", config=dict(config), log=str(log))
        return ProcessId(answer["pid"], answer["start_ticks"])

    def exit_code(self, process: ProcessId) -> int | None:
        code: int | None = self._ask(op="exit", pid=process.pid)["code"]
        return code

    def close(self) -> None:
        """Let the zygote, and every worker that is left, end."""
        self._door.close()
        if self._socket is not None:
            self._socket.close()

    def _ask(self, **ask: object) -> dict[str, Any]:
        with self._lock:
            try:
                if self._socket is None:
                    self._socket = self._welcome()
                self._socket.sendall(json.dumps(ask).encode() + b"\n")
                answer: dict[str, Any] = json.loads(self._line(self._socket))
            except OSError as error:
                raise NurseryLost(self._obituary(error)) from error
        return answer

    def _welcome(self) -> socket.socket:
        """Wait until the zygote has called and has everything loaded."""
        self._door.settimeout(LOAD_MAX_S)
        caller, _ = self._door.accept()
        caller.settimeout(LOAD_MAX_S)
        self._line(caller)
        caller.settimeout(ANSWER_MAX_S)
        return caller

    def _line(self, caller: socket.socket) -> bytes:
        while b"\n" not in self._pending:
            data = caller.recv(65536)
            if not data:
                raise ConnectionResetError("it closed its socket")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _obituary(self, error: OSError) -> str:
        code = self._guardian.exit_code(self.process)
        state = f"exited with code {code}" if code is not None else "still runs"
        return f"the zygote {state}: {error}\n{last_lines(self._log)}"
