"""Starts and ends the Toxiproxy server process that carries the links."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO

from chaos.requirements import program

START_S = 5.0
STOP_S = 5.0
LOG_TAIL_BYTES = 2000
# Runs before the server in the same process, so that its pid is the server's. A signal on the
# parent's death survives exec; fork hooks (preexec_fn) are not safe in a process with threads.
_DIE_WITH_PARENT = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent died before the server could start")
os.execvp(sys.argv[2], sys.argv[2:])
"""
_BUILT_FROM = re.compile(rb"github\.com/Shopify/toxiproxy/v2\t(v\d+\.\d+\.\d+)")
_REPOSITORY = Path(__file__).resolve().parent.parent


class SwitchDied(Exception):
    """The server ended before it answered; the message has its last words."""


class SwitchProcess:
    """One server process, which dies with ours.

    Linux takes "parent" to mean the *thread* that forked, so a thread of its own starts it and
    stays until the end.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._over = threading.Event()
        parent: Future[subprocess.Popen[bytes]] = Future()

        def stay() -> None:
            try:
                parent.set_result(self._start(command, environment))
            except OSError as error:
                parent.set_exception(error)
                return
            self._over.wait()  # no bound: the thread is a daemon, and lives as long as the server

        threading.Thread(target=stay, name="switch parent", daemon=True).start()
        self._process = parent.result(START_S)

    def _start(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own command, no shell
            [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            process_group=0,  # the terminal's Ctrl-C is not for it: healing needs it to the end
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def require_alive(self) -> None:
        code = self._process.poll()
        if code is not None:
            raise SwitchDied(f"the Toxiproxy server ended with status {code}: {self.last_words()}")

    def last_words(self) -> str:
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - LOG_TAIL_BYTES))
        return self._log.read().decode(errors="replace").strip()

    def stop(self) -> None:
        """Nothing in it is worth saving: its proxies live in memory."""
        self._process.kill()
        self._process.wait(STOP_S)
        self._over.set()
        self._log.close()


def real_command(host: str, port: int) -> tuple[str, Sequence[str]] | None:
    """The kind and the command line of the real server; None if it is not on PATH."""
    binary = program("toxiproxy-server")
    if binary is None:
        return None
    command = [binary, "-host", host, "-port", str(port), "-proxy-metrics"]
    return f"toxiproxy {_built_from(Path(binary))}", command


def embedded_command(host: str, port: int) -> tuple[str, Sequence[str]]:
    command = [sys.executable, "-P", "-m", "stack.toxiproxy", "--host", host, "--port", str(port)]
    return "embedded", command


def environment() -> dict[str, str]:
    """What a server needs; the rest of our environment is none of its business."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "LOG_LEVEL": "warn", "PYTHONPATH": str(_REPOSITORY)}


def require_free(host: str, port: int) -> None:
    """A real server whose API port is taken stays up in silence, and a stranger answers for it."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise SwitchDied(f"expected {host}:{port} free for the Toxiproxy API: {error}") from error


def _built_from(binary: Path) -> str:
    """A binary built by `go install` calls itself "git"; its build information knows better."""
    found = _BUILT_FROM.search(binary.read_bytes())
    return found.group(1).decode() if found else "of unknown version"
