"""Which processes of one stack may open no further descriptor, and what their limit was."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from chaos.event import Json
from stack.process_table import PROC, ProcessId

GONE = "X"


@dataclass(frozen=True, slots=True)
class _Limited:
    process: ProcessId
    before: tuple[int, int]  # soft and hard: only the soft one is touched


class DescriptorLimits:
    """Remembered by (node, part), so that each is undone by itself.

    Only the processes that are handed in are touched, by pid and start time. A limit dies with
    its process: whoever replaces it has its own.
    """

    def __init__(self) -> None:
        self._limited: dict[tuple[str, str], list[_Limited]] = {}

    def limit(self, node: str, part: str, processes: Sequence[ProcessId]) -> None:
        """ValueError: it is limited already, or there is nobody. ProcessLookupError: one ended."""
        if (node, part) in self._limited:
            raise ValueError(f"the descriptors of {part} of {node} are limited already")
        if not processes:
            raise ValueError(f"{node} is down: it has no descriptors to limit")
        limited = self._limited.setdefault((node, part), [])
        for one in processes:
            free = _first_free(one)
            _, hard = resource.prlimit(one.pid, resource.RLIMIT_NOFILE)
            before = resource.prlimit(one.pid, resource.RLIMIT_NOFILE, (free, hard))
            limited.append(_Limited(one, before))

    def room(self, node: str, part: str) -> Mapping[str, Json]:
        """How many more each may open, by pid; "X": it is gone. Empty: nothing is limited."""
        limited = self._limited.get((node, part), [])
        return {str(one.process.pid): _room(one.process) for one in limited}

    def lift(self, node: str, part: str) -> None:
        """Back to what it was. What is not limited, or gone, is left alone."""
        for one in self._limited.pop((node, part), []):
            if one.process.alive:
                with suppress(ProcessLookupError):
                    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, one.before)


def _room(process: ProcessId) -> Json:
    """The free numbers below its limit."""
    try:
        soft, _ = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        return soft - sum(number < soft for number in _open(process))
    except (FileNotFoundError, ProcessLookupError):
        return GONE


def _first_free(process: ProcessId) -> int:
    """The number that its next descriptor would get."""
    taken = _open(process)
    return next(number for number in range(len(taken) + 1) if number not in taken)


def _open(process: ProcessId) -> set[int]:
    if not process.alive:
        raise ProcessLookupError(process.pid)
    return {int(entry.name) for entry in os.scandir(PROC / str(process.pid) / "fd")}
