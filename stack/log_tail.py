"""The log of a node: its last lines for an error, its new lines for a reader."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

LINES = 20
_TAIL_BYTES: Final = 64 * 1024
_READ_BYTES: Final = 256 * 1024  # at most this much at once; the rest comes with the next look
_LOOK_S: Final = 0.02  # how late a line may be seen
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


def last_lines(path: Path, count: int = LINES) -> str:
    """The end of a log as text without colours; says so when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = plain(file.read()).splitlines()
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(lines[-count:]) or "(the log is empty)"


def plain(data: bytes) -> str:
    return _COLOUR.sub("", data.decode("utf-8", "replace"))


class LogTail:
    """Hands each complete new line of a growing file to a reader, on a thread of its own.

    When the file or the reader fails, `broken` hears why, once, and no line is read any more: a
    log that nobody follows must not look like one that says nothing.
    """

    def __init__(
        self, path: Path, read: Callable[[str], None], broken: Callable[[Exception], None]
    ) -> None:
        self._path = path
        self._read = read
        self._broken = broken
        self._offset = 0
        self._pending = b""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"tail {path.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float = 1.0) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _follow(self) -> None:
        try:
            while not self._closing.wait(_LOOK_S):
                self._look()
            self._look()
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            self._broken(error)

    def _look(self) -> None:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_READ_BYTES)
        except FileNotFoundError:
            return
        self._offset += len(data)
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > _READ_BYTES:
            self._pending = b""  # a line without an end is no line
        for line in lines:
            self._read(plain(line))
