"""What SGLang's processes leave in /dev/shm: whose it is, and its end.

Each server maps a file `sglang_loads_*.shm` there and leaves it behind, also after SIGTERM; its
name is random, so that ours are known only by who has them mapped. A killed one leaves semaphores,
which nobody has mapped; they get a prefix of ours (see sglang_names/sitecustomize.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from chaos.contracts import Reading
from stack.guardian import Guardian
from stack.process_table import ProcessId, mapped_shared_memory

_PLACE: Final = Path("/dev/shm")  # noqa: S108 - cleaned, not used


class SharedMemory:
    """Each node's files, told to the guardian as soon as they are seen."""

    def __init__(self, guardian: Guardian, prefix: str) -> None:
        self._guardian = guardian
        self._prefix = prefix
        guardian.keep_mapped_shared_memory()
        self._files: dict[str, set[Path]] = {}
        self._lock = Lock()

    def look(self, node: str, processes: Sequence[ProcessId]) -> None:
        """Remember what this node's processes have mapped now."""
        with self._lock:
            known = self._files.setdefault(node, set())
            for path in {Path(one) for one in mapped_shared_memory(processes)} - known:
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
        for path in _PLACE.glob(f"sem.{self._prefix}*"):
            path.unlink(missing_ok=True)

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
