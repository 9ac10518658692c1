"""Freezing processes, by signal or by cgroup (v1 freezer or v2), and reading back that it held."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from stack.process_table import ProcessId, identify

_V1 = Path("/sys/fs/cgroup/freezer")
_V2 = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
_THAW_MAX_S = 1.0


class CannotFreeze(Exception):
    """This machine offers no cgroup that we may write, or the kernel did not obey."""


class CannotThaw(Exception):
    """A frozen cgroup is still there after its bound: its members may still stand still."""


def cgroup_root() -> Path | None:
    """Where a freezing cgroup can be made here, or None."""
    if (_V1 / "cgroup.procs").exists():
        return _V1 if os.access(_V1, os.W_OK) else None
    for root in _V2:
        # The v2 root itself has no cgroup.freeze; its children do.
        if (root / "cgroup.controllers").exists() and os.access(root, os.W_OK):
            return root
    return None


def freeze_group(path: Path, processes: list[ProcessId], timeout_s: float) -> str:
    """Make a cgroup of these processes and freeze it. Returns what the kernel then says.

    Everything a member forks later is a member too. Raises CannotFreeze when the kernel has
    not confirmed in time; the group is then thawed and removed.
    """
    path.mkdir()
    try:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                (path / "cgroup.procs").write_text(str(process.pid))
        _write_state(path, frozen=True)
        _await_frozen(path, timeout_s)
    except BaseException:
        remove_group(path)
        raise
    return "FROZEN"


def _await_frozen(path: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_frozen(path):
        if time.monotonic() > deadline:
            raise CannotFreeze(f"{path.name}: still not frozen after {timeout_s:g} s")
        time.sleep(0.002)


def is_frozen(path: Path) -> bool:
    """What the kernel says, not what was asked for. False for a group that is gone."""
    try:
        if (path / "freezer.state").exists():
            return (path / "freezer.state").read_text().strip() == "FROZEN"
        return "frozen 1" in (path / "cgroup.events").read_text()
    except FileNotFoundError:
        return False


def thaw_group(path: Path) -> None:
    """Let the members run again; bounded, and silent when the group is gone."""
    with contextlib.suppress(FileNotFoundError):
        _write_state(path, frozen=False)
        deadline = time.monotonic() + _THAW_MAX_S
        while is_frozen(path) and time.monotonic() < deadline:
            time.sleep(0.002)


def remove_group(path: Path) -> None:
    """Thaw, hand the living members back to the parent group, and remove the group."""
    thaw_group(path)
    deadline = time.monotonic() + _THAW_MAX_S
    while path.exists():
        for one in members(path):
            with contextlib.suppress(OSError):
                (path.parent / "cgroup.procs").write_text(str(one.pid))
        try:
            path.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)


def members(path: Path) -> list[ProcessId]:
    """The processes of a cgroup; empty when the group is gone."""
    try:
        pids = (path / "cgroup.procs").read_text().split()
    except OSError:
        return []
    return [found for pid in pids if (found := identify(int(pid)))]


def _write_state(path: Path, *, frozen: bool) -> None:
    if (path / "freezer.state").exists():
        (path / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
    else:
        (path / "cgroup.freeze").write_text("1" if frozen else "0")
