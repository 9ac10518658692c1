"""Owns the keeping of a history while it happens: a SIGKILL leaves a readable beginning."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import IO

from chaos.history import History
from chaos.history_file import append, begin, end
from chaos.recorder import Recorder
from chaos.specification import Specification

FLUSH_S = 0.2  # a SIGKILL loses at most what happened in this time
CLOSE_S = 5.0  # a disk that hangs longer costs the rest of the file, not the run


@contextmanager
def keeping(
    path: Path, specification: Specification, control: History | None, recorder: Recorder
) -> Generator[None]:
    """While inside, what the recorder accepts is appended, a few times a second.

    OSError: the file cannot be begun. Later trouble with the disk is a TOOL_ERROR.
    """
    stop = Signal()
    with path.open("w", encoding="utf-8") as file:
        begin(file, specification, control)
        file.flush()
        before = len(control or ())
        keeper = Thread(target=_keep, args=(file, before, recorder, stop), daemon=True)
        keeper.start()
        try:
            yield
        finally:
            stop.set()
            keeper.join(CLOSE_S)


def _keep(file: IO[str], before: int, recorder: Recorder, stop: Signal) -> None:
    kept = 0
    try:
        while True:
            last = stop.wait(FLUSH_S)
            marks = recorder.since(kept)
            append(file, marks)
            kept += len(marks)
            if last:
                end(file, before + kept)
            file.flush()
            if last:
                return
    except (OSError, ValueError) as error:  # ValueError: it was closed, we were too slow
        recorder.tool_error("run", "history file", repr(error))
