"""What all stacks of one run stand on: guardian, zygote, switchboards and a directory."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from stack.guardian import Guardian
from stack.links import Switchboard
from stack.nursery import Nursery
from stack.process_table import identify

_SOCKET_CHARS_MAX = 107  # sun_path of unix(7), without its end
_DIRECTORY_CHARS_MAX = _SOCKET_CHARS_MAX - len("/zygote-999/zygote.sock")


class Ground:
    """Made once, because its parts are slow to make: torch alone takes two seconds to import."""

    def __init__(self) -> None:
        self.guardian = Guardian()
        name = f"pd-chaos-{self.guardian.pid}-{secrets.token_hex(4)}"
        self.directory = Path(tempfile.gettempdir()) / name
        if len(str(self.directory)) > _DIRECTORY_CHARS_MAX:
            self.guardian.close()
            raise ValueError(
                f"TMPDIR: the kernel allows unix sockets {_SOCKET_CHARS_MAX} characters of path, "
                f"so ours may have {_DIRECTORY_CHARS_MAX}: {self.directory}"
            )
        self.guardian.keep_path(self.directory)  # before it is made: we may be killed in between
        self.directory.mkdir(mode=0o700)
        self.shared_memory = f"pdchaos-{self.guardian.pid}-"
        self.guardian.keep_shared_memory(self.shared_memory)
        self._nursery: Nursery | None = None
        self._idle: list[Switchboard] = []
        self._open: list[Switchboard] = []
        self._stacks = 0
        self._nurseries = 0
        self._lock = threading.Lock()

    @property
    def nursery(self) -> Nursery:
        """Where workers are born. The first call starts it and does not wait for it.

        One that has died is replaced: its workers died with it, and are born again there.
        """
        with self._lock:
            if self._nursery is None or not self._nursery.process.alive:
                if self._nursery is not None:
                    self._nursery.close()
                self._nurseries += 1
                place = self.directory / f"zygote-{self._nurseries}"
                place.mkdir()
                self._nursery = Nursery(self.guardian, place)
            return self._nursery

    def stack_directory(self, name: str) -> Path:
        """A new directory for the logs and the sockets of one stack."""
        with self._lock:
            self._stacks += 1
            path = self.directory / f"{self._stacks}-{name}"
        path.mkdir()
        return path

    @contextmanager
    def switchboard(self) -> Generator[Switchboard]:
        """A switchboard without links, for one stack; kept for the next one afterwards."""
        with self._lock:
            board = self._idle.pop() if self._idle else None
        if board is None:
            board = self._open_switchboard()
        try:
            yield board
        finally:
            board.clear()
            with self._lock:
                self._idle.append(board)

    def close(self) -> None:
        """End everything that is left. Bounded; what does not end, the guardian ends."""
        if self._nursery is not None:
            self._nursery.close()
        for board in self._open:
            board.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.guardian.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open_switchboard(self) -> Switchboard:
        board = Switchboard()
        board.__enter__()  # it outlives this call; close() ends it
        self._open.append(board)
        server = identify(board.pid) if board.pid is not None else None
        if server is not None:
            self.guardian.keep_process(server)
        return board


class _Shared:
    """The one ground of this process. A forked copy makes its own: it has no threads of ours."""

    def __init__(self) -> None:
        self._ground: Ground | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def get(self) -> Ground:
        with self._lock:
            if self._ground is None or self._owner != os.getpid():
                self._ground = Ground()
                self._owner = os.getpid()
                atexit.register(self._ground.close)
            return self._ground


_SHARED = _Shared()


def shared_ground() -> Ground:
    """The ground of all stacks of this process, closed when the process ends."""
    return _SHARED.get()
