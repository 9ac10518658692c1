"""Histories on disk, read for a command: what cannot be read is one clear line."""

from __future__ import annotations

from pathlib import Path

from chaos.commands.bad_input import BadInput
from chaos.history import History
from chaos.history_file import read
from chaos.reports.printable import printable

LINE_MAX = 500


def load(file: Path) -> History:
    """Raises BadInput for a file that is missing, foreign, damaged or cut off."""
    try:
        return read(file)
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise BadInput(_one_line(str(error))) from error


def _one_line(text: str) -> str:
    """What the file holds may be anything: nothing of it reaches the terminal but what prints."""
    words = " ".join(text.split())
    escaped = printable(words)
    return escaped if len(escaped) <= LINE_MAX else f"{escaped[:LINE_MAX]} ..."


def files(paths: list[Path]) -> list[Path]:
    """Every history below these folders, and these files, in a stable order."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise BadInput(
                f"{path}: expected a history file or a folder of them; it does not exist"
            )
        found += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not found:
        raise BadInput(f"{paths[0]}: expected *.jsonl histories below it; there is none")
    return found
