"""One small way to break one file: what stood there, and what stands there instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    file: str  # relative to the repository
    line: int
    kind: str  # "a bound", "and/or", "dropped line", ...
    before: str  # the broken lines as they were, without their indentation
    after: str
    text: str  # of the whole broken file

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def key(self) -> tuple[str, str, str]:
        """By which a reviewed survivor is known again after its line has moved."""
        return self.file, self.before, self.after

    def diff(self) -> str:
        before = "\n".join(f"    - {one}" for one in self.before.splitlines())
        after = "\n".join(f"    + {one}" for one in self.after.splitlines())
        return f"{before}\n{after}"
