"""What the figures were measured on: cores, memory, and how busy it was meanwhile."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

KB_PER_GIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Load:
    """The machine's load average over a minute; our own work is part of it."""

    begin: float
    end: float

    def __str__(self) -> str:
        return f"load {self.begin:.1f} -> {self.end:.1f}"


def load_now() -> float:
    return os.getloadavg()[0]


def cores() -> int:
    return len(os.sched_getaffinity(0))


def memory_gib() -> float:
    found = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return int(found[1]) / KB_PER_GIB if found else 0.0


def described() -> str:
    python = platform.python_version()
    return f"{cores()} cores, {memory_gib():.0f} GiB, {platform.machine()}, Python {python}"
