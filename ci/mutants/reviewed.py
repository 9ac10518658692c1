"""Survivors that a person has looked at, each with the reason why no test can notice it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ci.mutants.mutant import Mutant

FIELDS = ("file", "before", "after", "reason")


def reviewed(path: Path) -> Mapping[tuple[str, str, str], str]:
    """ValueError: an entry without one of its fields."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    for row in rows:
        if missing := [name for name in FIELDS if not row.get(name)]:
            raise ValueError(f"{path}: expected {', '.join(missing)} in {row}")
    return {(row["file"], row["before"], row["after"]): row["reason"] for row in rows}


def stale(
    known: Mapping[tuple[str, str, str], str], everyone: Sequence[Mutant]
) -> list[tuple[str, str, str]]:
    """Entries that fit no mutant any more: the line was mended, or moved on."""
    keys = {one.key for one in everyone}
    return [key for key in known if key not in keys]
