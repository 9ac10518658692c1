"""A bug that somebody reported in public, put into the engine on purpose, and who must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SUITE = "suites/test_public_reports.py"


@dataclass(frozen=True, slots=True)
class Edit:
    """One place of the source. `before` stands there exactly once."""

    file: str
    before: str
    after: str

    def apply(self, root: Path) -> str:
        """Returns the file's whole text. ValueError: the source has moved on, and this has not."""
        path = root / self.file
        whole = path.read_text(encoding="utf-8") if path.is_file() else ""
        found = whole.count(self.before)
        if found != 1:
            raise ValueError(
                f"{self.file}: expected once, found {found} times: {self.before.strip()!r}"
            )
        path.write_text(whole.replace(self.before, self.after), encoding="utf-8")
        return whole


@dataclass(frozen=True, slots=True)
class Seed:
    """`says` is the verdict that `test` must get, as `python -m chaos judge --expect` reads it."""

    name: str
    reports: str
    edits: tuple[Edit, ...]
    test: str
    says: str
    suite: str = SUITE
    router: str = "smg"
    # Where the whole engine's verdict is the same, of a bug of the router's: who notices instead.
    noticed_by: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What plays it, for pytest."""
        return (f"{self.suite}::{self.test}", "--router", self.router)
