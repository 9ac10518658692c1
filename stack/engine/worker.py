"""One worker: a front process and the engine that it forks."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import sys
from typing import NoReturn

from stack.engine.config import WorkerConfig
from stack.engine.engine_process import EngineProcess
from stack.engine.front import Front
from stack.engine.guards.knob_validation import read_knobs
from stack.engine.knobs import BadKnob, Knobs

BAD_KNOB_EXIT_CODE = 2
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(config: WorkerConfig) -> NoReturn:
    """Run until the engine dies or a SIGTERM is obeyed; ends this process. Call it in a process
    that has no thread and no event loop: it forks.

    Exit codes: 0 told to stop, 2 a bad knob, 71 the engine died, 72 the step watchdog acted.
    """
    os.environ.update(config.environment)
    try:
        knobs = read_knobs(os.environ, _say)
    except BadKnob as error:
        _say(str(error))
        _leave(BAD_KNOB_EXIT_CODE)
    ours, theirs = socket.socketpair()
    front_pid = os.getpid()
    engine_pid = os.fork()
    if engine_pid == 0:
        ours.close()
        die_with(front_pid)
        _engine(config, knobs, theirs)
    theirs.close()
    _leave(asyncio.run(Front(config, knobs, engine_pid, ours).run()))


def _engine(config: WorkerConfig, knobs: Knobs, channel: socket.socket) -> NoReturn:
    """It goes with its front and not before: what tells a whole group to go reaches it as well."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    EngineProcess(config, knobs, channel).run()
    _leave(0)


def die_with(parent_pid: int) -> None:
    """The kernel ends this process when its parent is gone, however that happened."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it was gone before we asked
        _leave(0)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _leave(code: int) -> NoReturn:
    """Without the exit hooks of whoever forked us."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
