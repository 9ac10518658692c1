"""What is frozen in one stack: who, how, and whether the kernel still says so."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from chaos.event import Json
from stack import freezer
from stack.freezer import CannotFreeze, CannotThaw
from stack.guardian import Guardian
from stack.process_table import ProcessId

_FREEZE_MAX_S = 2.0
_THAW_MAX_S = 2.0
_LOOK_S = 0.002
HOWS = ("signal", "cgroup")


@dataclass(frozen=True, slots=True)
class _Ice:
    processes: tuple[ProcessId, ...]
    group: Path | None  # None: stopped by signal


class Frost:
    """Freezes are remembered by (node, part, how), so that each is undone by itself."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._ice: dict[tuple[str, str, str], _Ice] = {}
        self._serial = count(1)

    def freeze(
        self, node: str, part: str, how: str, processes: Sequence[ProcessId]
    ) -> Mapping[str, Json]:
        """Each pid and its state. Raises CannotFreeze; nothing is frozen then."""
        if how not in HOWS:
            raise ValueError(f"how: expected one of {', '.join(HOWS)}, not {how!r}")
        key = (node, part, how)
        if key in self._ice:
            raise ValueError(f"{part} of {node} is already frozen by {how}")
        if not processes:
            raise CannotFreeze(f"{node} is down: there is nothing to freeze")
        if how == "cgroup":
            self._ice[key] = self._by_cgroup(node, list(processes))
        else:
            self._ice[key] = _by_signal(tuple(processes))
        return self.state(node, part, how)

    def state(self, node: str, part: str, how: str) -> Mapping[str, Json]:
        """Each pid and its state now: "T" or "FROZEN" when it holds. Empty: nothing is frozen."""
        ice = self._ice.get((node, part, how))
        if ice is None:
            return {}
        if ice.group is None:
            return {str(one.pid): one.state for one in ice.processes}
        inside = {one.pid for one in freezer.members(ice.group)}
        frozen = freezer.is_frozen(ice.group)
        return {
            str(one.pid): "FROZEN" if frozen and one.pid in inside else one.state
            for one in ice.processes
        }

    def has(self, node: str) -> bool:
        """Whether some part of a node is frozen by us."""
        return any(key[0] == node for key in self._ice)

    def thaw(self, node: str, part: str, how: str) -> None:
        """Let it run again. What is not frozen is left alone. CannotThaw: the guardian keeps it."""
        ice = self._ice.get((node, part, how))
        if ice is None:
            return
        if ice.group is not None:
            freezer.remove_group(ice.group)
            if ice.group.exists():
                raise CannotThaw(f"{node}: {ice.group} is still there")
            self._guardian.release_cgroup(ice.group)
        else:
            _continue(node, ice.processes)
        self._ice.pop((node, part, how), None)

    def thaw_node(self, node: str) -> None:
        """Undo every freeze of a node: a frozen process would not die."""
        for key in [key for key in self._ice if key[0] == node]:
            self.thaw(*key)

    def thaw_all(self) -> None:
        for key in list(self._ice):
            self.thaw(*key)

    def _by_cgroup(self, node: str, processes: list[ProcessId]) -> _Ice:
        root = freezer.cgroup_root()
        if root is None:
            raise CannotFreeze("no cgroup freezer that we may write on this machine")
        path = root / f"pdchaos-{self._guardian.pid}-{node}-{next(self._serial)}"
        # Told before it is made: should we be killed in between, it is thawed all the same.
        self._guardian.keep_cgroup(path)
        try:
            freezer.freeze_group(path, processes, _FREEZE_MAX_S)
        except OSError as error:
            raise CannotFreeze(f"{node}: {error}") from error
        return _Ice(tuple(processes), path)


def _by_signal(processes: tuple[ProcessId, ...]) -> _Ice:
    """Returns once the kernel shows every thread of them stopped: sending is not stopping."""
    for one in processes:  # parents first: one that supervises must not see its child stop
        one.signal(signal.SIGSTOP)
    deadline_s = time.monotonic() + _FREEZE_MAX_S
    while any(one.alive and one.state != "T" for one in processes):
        if time.monotonic() > deadline_s:
            for one in processes:
                one.signal(signal.SIGCONT)
            raise CannotFreeze(f"still not stopped after {_FREEZE_MAX_S:g} s: {processes}")
        time.sleep(_LOOK_S)
    return _Ice(processes, None)


def _continue(node: str, processes: tuple[ProcessId, ...]) -> None:
    """Returns once the kernel shows no thread of them stopped."""
    for one in reversed(processes):  # children first: a parent must find them running
        one.signal(signal.SIGCONT)
    deadline_s = time.monotonic() + _THAW_MAX_S
    while any("T" in one.thread_states for one in processes):
        if time.monotonic() > deadline_s:
            raise CannotThaw(f"{node}: still stopped {_THAW_MAX_S:g} s after SIGCONT: {processes}")
        time.sleep(_LOOK_S)
