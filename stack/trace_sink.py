"""Where the nodes' marks arrive: a unix stream socket, read by one thread for all of them."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from chaos.contracts import Listener
from chaos.event import Json, Kind, Mark
from chaos.mark_json import KINDS, STAGES

_READ_BYTES: Final = 256 * 1024
_LINE_MAX_BYTES: Final = 64 * 1024
_CLOSE_MAX_S: Final = 2.0


class TraceSink:
    """Hands every mark to the listeners of the moment. A line that is no mark is a LOST mark.

    A listener runs on the sink's thread and must be quick; one that raises is told nothing
    more, and the others learn that from a TOOL_ERROR mark. Who observes after something has
    failed for good is told so first.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(os.fspath(path))
        self._door.listen(64)
        self._door.setblocking(False)
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._door, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._pending: dict[socket.socket, bytes] = {}
        self._listeners: list[Listener] = []
        self._failures: dict[str, str] = {}  # what does not reach us any more, and why
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="trace sink", daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def observe(self, listener: Listener) -> Generator[None]:
        """While inside, the listener gets every mark."""
        with self._lock:
            self._listeners.append(listener)
            failures = dict(self._failures)
        for about, why in failures.items():
            listener(_broken(about, why))
        try:
            yield
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._listeners.remove(listener)

    def tell(self, mark: Mark) -> None:
        """A mark of somebody who has no socket: the router's log, for example."""
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener(mark)
            except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
                self._expel(listener, error)

    def fail(self, about: str, why: str) -> None:
        """Marks of `about` will not come any more: every listener, of now and later, is told."""
        with self._lock:
            self._failures[about] = why
        self.tell(_broken(about, why))

    def close(self) -> None:
        """Stop listening and remove the socket's file. Bounded."""
        with contextlib.suppress(OSError):
            self._wake.send(b".")
        self._thread.join(_CLOSE_MAX_S)
        for one in (self._door, self._wake, self._woken, *self._pending):
            one.close()
        self._selector.close()
        self.path.unlink(missing_ok=True)

    def _expel(self, listener: Listener, error: Exception) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._listeners.remove(listener)
        self.tell(_broken("listener", f"a listener of marks failed: {error!r}"))

    def _serve(self) -> None:
        try:
            self._hand_over()
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            self.fail("trace", f"marks are not read any more: {error!r}")

    def _hand_over(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    return
                if key.fileobj is self._door:
                    self._accept()
                else:
                    self._read(cast("socket.socket", key.fileobj))

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it hung up again: then it had nothing to say
            caller, _ = self._door.accept()
            caller.setblocking(False)
            self._pending[caller] = b""
            self._selector.register(caller, selectors.EVENT_READ)

    def _read(self, caller: socket.socket) -> None:
        try:
            data = caller.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(caller)
            rest = self._pending.pop(caller)
            caller.close()
            if rest:  # killed in the middle of a line
                self.tell(_lost("the node ended inside a mark", rest))
            return
        *lines, rest = (self._pending[caller] + data).split(b"\n")
        for line in lines:
            self.tell(parse(line))
        if len(rest) > _LINE_MAX_BYTES:
            self.tell(_lost("a mark without an end", rest))
            rest = b""
        self._pending[caller] = rest


def parse(line: bytes) -> Mark:
    """One JSON line as a mark; a LOST mark, which says why, when it is none."""
    try:
        raw: Any = json.loads(line)
        return Mark(
            at_ns=int(raw["at_ns"]),
            actor=str(raw["actor"]),
            kind=KINDS[raw["kind"]],
            about=str(raw["about"]),
            stage=None if raw.get("stage") is None else STAGES[raw["stage"]],
            attempt=None if raw.get("attempt") is None else int(raw["attempt"]),
            detail=_flat(raw.get("detail") or {}),
        )
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        return _lost(f"not a mark: {error!r}", line)


def _flat(detail: Mapping[str, Any]) -> dict[str, Json]:
    """Details are plain values; anything deeper is kept as its text."""
    return {
        str(name): value if isinstance(value, str | int | float | bool | None) else repr(value)
        for name, value in detail.items()
    }


def _broken(about: str, why: str) -> Mark:
    return Mark(time.monotonic_ns(), "trace", Kind.TOOL_ERROR, about, detail={"why": why})


def _lost(why: str, line: bytes) -> Mark:
    detail: dict[str, Json] = {
        "count": 1,
        "why": why,
        "line": line[:200].decode("utf-8", "replace"),
    }
    return Mark(time.monotonic_ns(), "trace", Kind.LOST, "trace", detail=detail)
