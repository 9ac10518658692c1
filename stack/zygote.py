"""The zygote: has imported torch and the engine once, and forks workers from itself on request.

Run as `python -P -m stack.zygote SOCKET`. It speaks JSON lines over that unix socket:
{"op": "fork", "config": {...}, "log": path} -> {"pid", "start_ticks"};
{"op": "exit", "pid": n} -> {"code": n or null}. It ends, with its workers, when the socket does.
Forking a process that has started CUDA is not allowed: a `cuda` worker is spawned instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from stack import process_table

_LOOK_S = 0.2
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
Work = Callable[[dict[str, Any]], int]


def main(path: str) -> None:
    """Connect to the run, load everything heavy, then serve until the run is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    run = socket.socket(socket.AF_UNIX)
    run.connect(path)
    began = time.monotonic()
    work = _load()
    run.sendall(json.dumps({"loaded_s": time.monotonic() - began}).encode() + b"\n")
    exits: dict[int, int] = {}
    serve(run, work, exits)
    for child in process_table.tree(os.getpid())[1:]:
        child.signal(signal.SIGKILL)


def _load() -> Work:
    """Import the engine (and with it torch): the two seconds that each worker saves."""
    from stack.engine import worker  # noqa: PLC0415 - only this process may import torch
    from stack.engine.config import WorkerConfig  # noqa: PLC0415 - as above

    def work(config: dict[str, Any]) -> int:
        return worker.main(WorkerConfig.from_json(json.dumps(config)))

    return work


def serve(run: socket.socket, work: Work, exits: dict[int, int]) -> None:
    """Answer one JSON line with another until the other end is gone."""
    pending = b""
    while True:
        _reap(exits)
        if not select.select([run], [], [], _LOOK_S)[0]:
            continue
        data = run.recv(65536)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            ask = json.loads(line)
            if ask["op"] == "fork":
                answer = _fork(ask, run, work)
            else:
                _reap(exits)
                answer = {"code": exits.get(ask["pid"])}
            run.sendall(json.dumps(answer).encode() + b"\n")


def _fork(ask: dict[str, Any], run: socket.socket, work: Work) -> dict[str, int]:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        run.close()
        _live(ask, parent, work)
    found = process_table.identify(pid)
    assert found is not None  # unreaped, so it is at least a zombie
    return {"pid": pid, "start_ticks": found.start_ticks}


def _live(ask: dict[str, Any], parent: int, work: Work) -> None:
    """The worker's whole life, in the child. Never returns."""
    code = 1
    try:
        os.setpgid(0, 0)
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        log = os.open(ask["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if os.getppid() == parent:  # else it died before the death signal was set
            code = work(ask["config"])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
        if isinstance(error.code, str):
            os.write(2, error.code.encode() + b"\n")
    except BaseException:  # noqa: BLE001 - a forked child must not return into the zygote's loop
        os.write(2, traceback.format_exc().encode())
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _reap(exits: dict[int, int]) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            exits[pid] = os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main(sys.argv[1])
