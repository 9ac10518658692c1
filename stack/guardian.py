"""The run's end of the guardian: start processes through it, and tell it what to undo."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stack.process_table import ProcessId

ROOT: Final = Path(__file__).resolve().parents[1]  # where `stack` is found
ANSWER_MAX_S: Final = 5.0
CLOSE_MAX_S: Final = 6.0  # a little more than the guardian allows itself


class GuardianLost(Exception):
    """The guardian does not answer: nothing may be started that nobody would clean up."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to start: `argv[0]` is a full path; the log is appended to."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    log: Path


class Guardian:
    """One small process for each run. Close it (or die) and everything is undone."""

    def __init__(self) -> None:
        self._pipe, theirs = socket.socketpair()
        self._pipe.settimeout(ANSWER_MAX_S)
        self._pending = b""
        self._lock = threading.Lock()
        bootstrap = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
            "from stack.guardian_process import main; main()"
        )
        # No -P: it inherits nothing and reads nothing (-I -S), so that it starts in milliseconds.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
            [sys.executable, "-I", "-S", "-c", bootstrap],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # the terminal's Ctrl-C is not for it
        )
        theirs.close()
        self._ask(op="hello")  # from its answer on, it ignores the signals that end others

    @property
    def pid(self) -> int:
        return self._process.pid

    def spawn(self, launch: Launch) -> ProcessId:
        """Start a program in a process group of its own; it dies with the guardian.

        A program that cannot be started exits with 127 and says why in its log.
        """
        answer = self._ask(
            op="spawn",
            argv=list(launch.argv),
            environment=dict(launch.environment),
            directory=str(launch.directory),
            log=str(launch.log),
        )
        return ProcessId(answer["pid"], answer["start_ticks"])

    def exit_code(self, process: ProcessId) -> int | None:
        """The exit code of something spawned here (negative: the signal), once it has ended."""
        code: int | None = self._ask(op="exit", pid=process.pid)["code"]
        return code

    def keep_process(self, process: ProcessId) -> None:
        """Kill this process, and its descendants, when the run ends."""
        self._keep(kind="process", pid=process.pid, start_ticks=process.start_ticks)

    def keep_group(self, group: int) -> None:
        """Kill the members of this process group when the run ends."""
        self._keep(kind="group", group=group)

    def keep_cgroup(self, path: Path) -> None:
        """Thaw and remove this cgroup, and kill its members. Say so before it is made."""
        self._keep(kind="cgroup", path=str(path))

    def release_cgroup(self, path: Path) -> None:
        self._ask(op="release", thing={"kind": "cgroup", "path": str(path)})

    def keep_path(self, path: Path) -> None:
        """Remove this file, socket or whole directory."""
        self._keep(kind="path", path=str(path))

    def release_path(self, path: Path) -> None:
        self._ask(op="release", thing={"kind": "path", "path": str(path)})

    def keep_shared_memory(self, prefix: str) -> None:
        """Remove what lies in /dev/shm under names that begin so."""
        assert prefix.startswith("pdchaos-")  # never a stranger's
        self._keep(kind="shm", prefix=prefix)

    def keep_mapped_shared_memory(self) -> None:
        """Remove what the processes that are killed in the end have mapped in /dev/shm."""
        self._keep(kind="mapped")

    def keep_proxies(self, api: str, names: Sequence[str]) -> None:
        """Delete these proxies of a Toxiproxy server that is not ours ("http://host:port")."""
        self._keep(kind="proxies", api=api, names=list(names))

    def release_proxies(self, api: str, names: Sequence[str]) -> None:
        self._ask(op="release", thing={"kind": "proxies", "api": api, "names": list(names)})

    def close(self) -> bool:
        """Undo everything now. False when the guardian did not end in its bound."""
        self._pipe.close()
        try:
            self._process.wait(CLOSE_MAX_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(CLOSE_MAX_S)
            return False
        return self._process.returncode == 0

    def _keep(self, **thing: object) -> None:
        self._ask(op="keep", thing=thing)

    def _ask(self, **ask: object) -> dict[str, Any]:
        with self._lock:
            try:
                self._pipe.sendall(json.dumps(ask).encode() + b"\n")
                answer: dict[str, Any] = json.loads(self._line())
            except OSError as error:
                raise GuardianLost(f"the guardian (pid {self.pid}) is gone: {error}") from error
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def _line(self) -> bytes:
        while b"\n" not in self._pending:
            data = self._pipe.recv(65536)
            if not data:
                raise ConnectionResetError("it closed its pipe")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line
