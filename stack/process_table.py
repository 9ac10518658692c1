"""What the kernel knows about a process: alive, state, descendants, descriptors, sockets."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_PF_EXITING = 0x4  # linux/sched.h: set before a process's files are closed
_ESTABLISHED = "01"  # /proc/net/tcp, column "st"


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process for good: a pid may be used again, but not with the same start time."""

    pid: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        """Zombies are dead: they run nothing and hold nothing."""
        status = _stat(self.pid)
        return status is not None and status.start_ticks == self.start_ticks and status.runs

    @property
    def exiting(self) -> bool:
        """The kernel takes it down, or has: its peers may see its sockets closed before it is a
        zombie. It never runs its own code again."""
        status = _stat(self.pid)
        if status is None or status.start_ticks != self.start_ticks:
            return False
        return bool(status.flags & _PF_EXITING)

    @property
    def state(self) -> str:
        """One letter as in ps: "T" when each of its threads has stopped; "X" when it is gone."""
        states = self.thread_states
        return next((one for one in states if one != "T"), states[0] if states else "X")

    @property
    def thread_states(self) -> list[str]:
        """One letter for each thread, the leader's first; empty when it is gone.

        A signal stops the threads one after the other, each when it is next seen by the kernel.
        """
        leader = _stat(self.pid)
        if leader is None or leader.start_ticks != self.start_ticks:
            return []
        others = (_task_state(self.pid, number) for number in _threads(self.pid))
        return [leader.state, *filter(None, others)]

    def signal(self, number: int) -> bool:
        """Send a signal to this process and no other. False when it is gone."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            # The descriptor pins the pid: what is checked now is what gets the signal.
            if not self.alive:
                return False
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)
        return True


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    parent: int
    group: int
    flags: int  # PF_* of linux/sched.h
    threads: int
    start_ticks: int
    exit_status: int  # as wait() tells it; of a zombie only, and 0 where we may not know

    @property
    def runs(self) -> bool:
        """A leader that has ended is a zombie while its threads still hold their sockets."""
        return self.state not in "ZX" or self.threads > 1


def _stat(pid: int) -> _Stat | None:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command may contain spaces and parentheses; the fields begin after its last one.
    fields = text.rpartition(")")[2].split()
    return _Stat(fields[0], *(int(fields[index]) for index in (1, 2, 6, 17, 19, 49)))


def _threads(pid: int) -> list[str]:
    """The ids of a process's threads without its leader."""
    try:
        return [one.name for one in os.scandir(PROC / str(pid) / "task") if one.name != str(pid)]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _task_state(pid: int, number: str) -> str | None:
    try:
        text = (PROC / str(pid) / "task" / number / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()[0]


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now, or None."""
    status = _stat(pid)
    return ProcessId(pid, status.start_ticks) if status else None


def exit_code(process: ProcessId) -> int | None:
    """How it ended (negative: the signal), as long as its parent has not asked for that."""
    status = _stat(process.pid)
    if status is None or status.start_ticks != process.start_ticks or status.state != "Z":
        return None
    return os.waitstatus_to_exitcode(status.exit_status)


def _everyone() -> Iterator[tuple[int, _Stat]]:
    for entry in os.scandir(PROC):
        if entry.name.isdigit():
            status = _stat(int(entry.name))
            if status is not None and status.runs:
                yield int(entry.name), status


def tree(pid: int) -> list[ProcessId]:
    """The process, where it lives, and all its descendants, parents first."""
    children: dict[int, list[ProcessId]] = {}
    found: list[ProcessId] = []
    for child, status in _everyone():
        one = ProcessId(child, status.start_ticks)
        children.setdefault(status.parent, []).append(one)
        if child == pid:
            found.append(one)
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += [one.pid for one in below]
    return found


def group_members(group: int) -> list[ProcessId]:
    """Every living process of a process group."""
    return [ProcessId(p, s.start_ticks) for p, s in _everyone() if s.group == group]


def mapped_shared_memory(processes: Iterable[ProcessId]) -> set[str]:
    """The paths of the files in /dev/shm that these processes have mapped."""
    found: set[str] = set()
    for one in processes:
        with contextlib.suppress(OSError):
            lines = (PROC / str(one.pid) / "maps").read_text().splitlines()
            paths = {line[line.find("/dev/shm/") :] for line in lines if "/dev/shm/" in line}  # noqa: S108 - looked for, not used
            found |= {path for path in paths if not path.endswith(" (deleted)")}
    return found


def socket_inodes(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open. Empty when it is gone."""
    inodes: set[str] = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for entry in os.scandir(PROC / str(pid) / "fd"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                target = str(Path(entry.path).readlink())
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
    return inodes


def descriptor_count(pid: int) -> int:
    """How many descriptors a process has open. Raises FileNotFoundError when it is gone."""
    return sum(1 for _ in os.scandir(PROC / str(pid) / "fd"))


def thread_count(pid: int) -> int:
    """How many threads a process has. Raises FileNotFoundError when it is gone."""
    return sum(1 for _ in os.scandir(PROC / str(pid) / "task"))


def resident_pages(pid: int) -> int:
    """How much of its memory is in RAM. Raises FileNotFoundError when it is gone."""
    return int((PROC / str(pid) / "statm").read_text("ascii").split()[1])


@dataclass(frozen=True, slots=True)
class TcpRow:
    """One established TCP connection of this machine, as one of its two ends sees it."""

    inode: str
    local_port: int
    remote_port: int


def established() -> list[TcpRow]:
    """All established TCP connections in this network namespace."""
    rows: list[TcpRow] = []
    for table in ("tcp", "tcp6"):
        path = PROC / "net" / table
        if not path.exists():
            continue
        for line in path.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _ESTABLISHED:
                local, remote = fields[1].rpartition(":")[2], fields[2].rpartition(":")[2]
                rows.append(TcpRow(fields[9], int(local, 16), int(remote, 16)))
    return rows


def wait_exit(process: ProcessId, timeout_s: float) -> bool:
    """Wait until the process has ended. False when it still runs after the time-out."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        if identify(process.pid) != process:
            return True
        watch = select.poll()
        watch.register(descriptor, select.POLLIN)
        return bool(watch.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)


def wait_any_exit(processes: Sequence[ProcessId], timeout_s: float) -> list[ProcessId]:
    """Wait until one of them has ended; returns all that have, in their order."""
    with contextlib.ExitStack() as closing:
        watch = select.poll()
        for process in processes:
            try:
                descriptor = os.pidfd_open(process.pid)
            except ProcessLookupError:
                return [one for one in processes if not one.alive]
            closing.callback(os.close, descriptor)
            watch.register(descriptor, select.POLLIN)
        watch.poll(timeout_s * 1000)
    return [one for one in processes if not one.alive]


def wait_all_exit(processes: list[ProcessId], timeout_s: float) -> list[ProcessId]:
    """Wait for all of them together; returns those that still run."""
    deadline_s = time.monotonic() + timeout_s
    return [one for one in processes if not wait_exit(one, max(0.0, deadline_s - time.monotonic()))]
