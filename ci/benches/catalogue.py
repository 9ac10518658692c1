"""Every row by its name: the module that measures it, and the bound of one measuring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from ci.benches.effort import Effort
from ci.benches.promise import Figure, Promise


class RowModule(Protocol):
    """What each module in ci/benches/rows has."""

    PROMISES: tuple[Promise, ...]

    def measure(self, effort: Effort) -> Iterator[Figure]:
        """Each figure as soon as it is known. What raises leaves the rest not measured."""
        ...


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    bound_s: float  # a whole measuring takes about half of this on two idle cores
    quick_bound_s: float  # 0: too long for --quick, whatever is left out

    @property
    def module(self) -> RowModule:
        path = f"ci.benches.rows.{self.name.replace('-', '_')}"
        return cast("RowModule", import_module(path))


ROWS = (
    Row("first-fault", 300, 40),
    Row("ready", 180, 40),
    Row("killed-worker", 240, 40),
    Row("faults", 420, 60),
    Row("aborts", 240, 50),
    Row("silent-hang", 240, 40),
    Row("overhead", 600, 60),
    Row("load-generator", 120, 40),
    Row("fault-free", 3600, 40),
    Row("judging", 900, 60),
    Row("mixed-batch", 1200, 40),
    Row("kv-pages", 600, 40),
    Row("suites", 2400, 0),
    Row("tests", 1800, 0),
)


def named(names: Sequence[str]) -> list[Row]:
    """These rows, or all. ValueError: a name that is no row; the message lists those that are."""
    known = [row.name for row in ROWS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no row {', '.join(unknown)}; there are: {' '.join(known)}")
    return [row for row in ROWS if not names or row.name in names]
