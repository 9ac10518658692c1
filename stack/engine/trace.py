"""The worker's marks on their way to the recorder: a socket that never blocks the engine."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from chaos.event import Json, Kind, Mark
from chaos.mark_json import dump
from chaos.stage import Stage


class Trace:
    """JSON lines over a unix stream socket, one connection a process. Thread-safe.

    A line that does not fit is dropped and counted; a mark of kind "lost" comes before the next
    one that fits, or with the next `flush`, so that whoever reads knows that the evidence has a
    hole. For the same reason a path where nobody listens is an error (ConnectionError) and not a
    silent worker.
    """

    def __init__(self, path: str | None, actor: str) -> None:
        self._actor = actor
        self._lock = threading.Lock()
        self._rest = b""  # the end of a line that the socket took only in part
        self.lost = 0  # marks that nobody was told of yet
        self._socket = _connected(path) if path else None

    def mark(
        self,
        kind: Kind,
        about: str,
        stage: Stage | None = None,
        attempt: int | None = None,
        detail: Mapping[str, Json] | None = None,
    ) -> None:
        if self._socket is None:
            return
        with self._lock:
            line = self._hole() + self._line(kind, about, stage, attempt, detail or {})
            if self._send(line):
                self.lost = 0
            else:
                self.lost += 1

    def flush(self) -> None:
        """Tell now what waits and what was lost: the next mark may never come."""
        with self._lock:
            if (self._rest or self.lost) and self._send(self._hole()):
                self.lost = 0

    def _hole(self) -> bytes:
        if not self.lost:
            return b""
        return self._line(Kind.LOST, self._actor, None, None, {"count": self.lost})

    def _line(
        self,
        kind: Kind,
        about: str,
        stage: Stage | None,
        attempt: int | None,
        detail: Mapping[str, Json],
    ) -> bytes:
        mark = Mark(time.monotonic_ns(), self._actor, kind, about, stage, attempt, detail)
        return f"{dump(mark)}\n".encode()

    def _send(self, line: bytes) -> bool:
        """False when the line was dropped: an older one still waits for the socket."""
        self._rest = self._push(self._rest)
        if self._rest:
            return False
        rest = self._push(line)
        if line and rest == line:
            return False
        self._rest = rest
        return True

    def _push(self, data: bytes) -> bytes:
        """Returns what the socket did not take."""
        if not data or self._socket is None:
            return b""
        try:
            return data[self._socket.send(data) :]
        except BlockingIOError:
            return data
        except OSError:  # the recorder is gone: nobody is left to tell
            self._socket = None
            return b""

    def close(self) -> None:
        with self._lock, suppress(OSError):
            if self._socket is not None:
                self._socket.close()
            self._socket = None


def _connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(1.0)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise ConnectionError(f"trace_path: expected a listener at {path}: {error}") from error
    connection.setblocking(False)
    return connection
