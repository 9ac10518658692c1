"""What SGLang's processes leave in /dev/shm: whose it is, and its end.

Each server maps a file `sglang_loads_*.shm` there and leaves it behind, also after SIGTERM; a
killed one leaves its semaphores and segments too. The names are random, so that ours are known
only by who has them mapped.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from chaos.contracts import Reading
from stack.guardian import Guardian
from stack.process_table import PROC, ProcessId

_MAPPED: Final = re.compile(r" (/dev/shm/[^\s/]+)$", re.MULTILINE)


def mapped(processes: Iterable[ProcessId]) -> set[Path]:
    """The files in /dev/shm that these processes have mapped."""
    found: set[Path] = set()
    for one in processes:
        with contextlib.suppress(OSError):
            text = (PROC / str(one.pid) / "maps").read_text()
            found |= {Path(name) for name in _MAPPED.findall(text)}
    return found


class SharedMemory:
    """Each node's files, told to the guardian as soon as they are seen."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._files: dict[str, set[Path]] = {}
        self._lock = Lock()

    def look(self, node: str, processes: Sequence[ProcessId]) -> None:
        """Remember what this node's processes have mapped now."""
        with self._lock:
            known = self._files.setdefault(node, set())
            for path in mapped(processes) - known:
                self._guardian.keep_path(path)
                known.add(path)

    def remove(self, node: str) -> None:
        """The node's processes are dead: remove what they left."""
        with self._lock:
            for path in self._files.pop(node, set()):
                path.unlink(missing_ok=True)
                self._guardian.release_path(path)

    def remove_all(self) -> None:
        for node in list(self._files):
            self.remove(node)

    def count(self) -> int:
        """How many of them are there now."""
        with self._lock:
            return sum(path.exists() for files in self._files.values() for path in files)


@dataclass(frozen=True, slots=True)
class SharedMemoryCount:
    """A probe: how many files of ours lie in /dev/shm."""

    memory: SharedMemory
    name: str = "machine/shm"

    def read(self) -> Sequence[Reading]:
        return [Reading(self.name, float(self.memory.count()))]
