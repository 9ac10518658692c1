"""Ends what a CI job of this checkout left running; a self-hosted runner has a next job.

Ours is what was started from the environment that .ci/run makes: a process whose own environment
names it as VIRTUAL_ENV. Nothing is found by its name, nothing else is signalled, and a pid that
passes to another process in between is not hit (pidfd).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

OURS = Path(__file__).resolve().parents[1] / ".chaos" / "ci" / "venv"
V1 = Path("/sys/fs/cgroup/freezer")
V2 = Path("/sys/fs/cgroup")


def started_from(environment: Path) -> Iterator[int]:
    """Each process of this environment, but for our own family."""
    family = set(ancestors(os.getpid()))
    running = {int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()}
    yield from (pid for pid in sorted(running - family) if is_from(pid, environment))


def ancestors(pid: int) -> Iterator[int]:
    while pid > 0:
        yield pid
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        pid = int(status.rpartition(")")[2].split()[1])


def is_from(pid: int, environment: Path) -> bool:
    try:
        own = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"VIRTUAL_ENV={environment}".encode() in own.split(b"\0")


def thaw(pid: int) -> None:
    """A process in a frozen cgroup survives SIGKILL until it is thawed."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if path == "/":
                continue
            if controllers == "freezer":
                (V1 / path.lstrip("/") / "freezer.state").write_text("THAWED")
            elif not controllers:
                (V2 / path.lstrip("/") / "cgroup.freeze").write_text("0")


def kill(pid: int, environment: Path) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_from(pid, environment):  # asked again: now the handle cannot change its owner
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    thaw(pid)
    return True


def main() -> int:
    killed = [pid for pid in list(started_from(OURS)) if kill(pid, OURS)]
    print(
        f"clean: {len(killed)} left behind, killed: {killed}" if killed else "clean: nothing left"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
