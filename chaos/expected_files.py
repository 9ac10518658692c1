"""Finds the expected file of each test, and reads each file once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from chaos.comparison import Expected
from chaos.expected_file import ExpectedFile, read

FOLDER = "expected"


@dataclass
class ExpectedFiles:
    """`name` is of the stack, the router and, where one was asked for, the topology.

    The nearest file counts: in `expected/` beside the suite, or above it as far as `top`; for a
    suite that is not below `top`, only beside it.
    """

    name: str  # "embedded-smg.toml"
    top: Path
    accept: bool  # a new file will be written where there is none
    _read: dict[Path, ExpectedFile] = field(default_factory=dict[Path, ExpectedFile])

    def check(self, folder: Path) -> None:
        """ValueError: the file of the suites in this folder is none of ours."""
        if (path := self._nearest(folder)) is not None:
            self._file(path)

    def of(self, suite: Path, test: str) -> tuple[Expected, Path | None]:
        """What stands there for this test, and where its file is, or would be: nowhere if nobody
        keeps such files. ValueError as in `check`."""
        path = self._nearest(suite.parent)
        place = path or self._new_place(suite.parent)
        expected_id = f"{suite.relative_to(place.parent.parent).as_posix()}::{test}"
        if path is not None:
            return Expected(expected_id, self._file(path)), place
        if self.accept:
            return Expected(expected_id, ExpectedFile(place)), place
        return Expected(expected_id), place if place.parent.is_dir() else None

    def _file(self, path: Path) -> ExpectedFile:
        if path not in self._read:
            self._read[path] = read(path)
        return self._read[path]

    def _nearest(self, folder: Path) -> Path | None:
        files = (one / FOLDER / self.name for one in self._upwards(folder))
        return next((one for one in files if one.is_file()), None)

    def _new_place(self, folder: Path) -> Path:
        """In the nearest `expected/`, or in a new one beside the suite."""
        kept = (one for one in self._upwards(folder) if (one / FOLDER).is_dir())
        return next(kept, folder) / FOLDER / self.name

    def _upwards(self, folder: Path) -> Iterable[Path]:
        if not folder.is_relative_to(self.top):
            return (folder,)
        above = (folder, *folder.parents)
        return above[: above.index(self.top) + 1]
