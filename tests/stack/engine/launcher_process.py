"""Imports the engine once and forks workers: JSON lines in (a configuration), pids out."""

import json
import os
import signal
import sys

from stack.engine import worker
from stack.engine.config import WorkerConfig


def serve() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    launcher_pid = os.getpid()
    for line in sys.stdin:
        config = WorkerConfig.from_json(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            worker.die_with(launcher_pid)
            worker.main(config)
        sys.stdout.write(json.dumps({"pid": pid}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
