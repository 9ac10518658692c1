"""The tests' end of the load generator: commands down, marks up, every wait bounded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from chaos.contracts import Listener, Request
from chaos.event import Kind, Mark
from stack.load_generator import wire
from stack.load_process import LoadGeneratorDied, LoadProcess, Report

START_WITHIN_S: Final = 20.0  # a new interpreter that imports aiohttp on a busy machine
CLOSE_WITHIN_S: Final = 5.0


class BatchRunning(Exception):
    """The batch before has neither settled nor been stopped."""


class Clients:
    """Implements `chaos.contracts.Clients`.

    The process is started at once and awaited when it is first needed. One that died is
    replaced by the next `start`; every other call says that it died. `id_field` names the field
    of a request's body that carries its id beside the header: "rid" for SGLang's own log.
    """

    def __init__(
        self,
        url: str | Callable[[], str],
        model: str | None = None,
        on_spawn: Callable[[int], None] | None = None,
        id_field: str | None = None,
    ) -> None:
        self._url = url
        self._model = model
        self._id_field = id_field
        self._on_spawn = on_spawn
        self._batch = 0
        self._listener: Listener | None = None
        self._listening = threading.RLock()  # nobody is told anything after `stop` returned
        self._settled = threading.Event()
        self._settled.set()
        self._process = self._spawn()

    @property
    def pid(self) -> int:
        return self._process.pid

    def aim(self, url: str | Callable[[], str]) -> None:
        """Send the next batches there."""
        self._url = url

    def start(
        self,
        requests: Sequence[Request],
        listener: Listener,
        within_s: float = START_WITHIN_S,
    ) -> None:
        """Play these requests; returns when the process has taken them.

        ValueError: an id comes twice, or `after` names no earlier request. BatchRunning: see
        there. LoadGeneratorDied, TimeoutError: the process did not take them.
        """
        check(requests)
        if not self._settled.is_set():
            raise BatchRunning("call stop() first, or wait until every request has settled")
        self._replace_the_dead(within_s)
        with self._listening:
            self._batch += 1
            self._listener = listener
        self._settled.clear()
        self._process.ask(
            "start",
            within_s,
            batch=self._batch,
            url=(self._url if isinstance(self._url, str) else self._url()).rstrip("/"),
            model=self._model,
            id_field=self._id_field,
            requests=wire.requests_out(requests),
        )

    def wait(self, timeout_s: float) -> bool:
        """True when every request has settled or was skipped. LoadGeneratorDied: it never will."""
        self._settled.wait(timeout_s)
        self._process.check()
        return self._settled.is_set()

    def stop(self, timeout_s: float) -> None:
        """Give up what runs. A process that does not answer in time is killed."""
        with self._listening:
            self._listener = None
        try:
            self._process.ask("stop", timeout_s)
        except TimeoutError:
            self._process.close(timeout_s)
        except LoadGeneratorDied:
            pass  # then nothing runs any more; its TOOL_ERROR mark has told so
        self._settled.set()

    def disconnect(self, request_id: str, timeout_s: float) -> bool:
        return bool(self._touch("disconnect", request_id, timeout_s))

    def pause_reading(self, request_id: str, timeout_s: float) -> bool:
        return bool(self._touch("pause", request_id, timeout_s))

    def resume_reading(self, request_id: str, timeout_s: float) -> bool:
        return bool(self._touch("resume", request_id, timeout_s))

    def unread_bytes(self, request_id: str, timeout_s: float) -> int | None:
        """Bytes of this reply that wait in our socket. None: no reply is being read."""
        value = self._touch("unread_bytes", request_id, timeout_s)
        return value if isinstance(value, int) else None

    def close(self) -> None:
        """End the process. Idempotent."""
        with self._listening:
            self._listener = None
        self._process.close(CLOSE_WITHIN_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _touch(self, command: str, request_id: str, timeout_s: float) -> object:
        return self._process.ask(command, timeout_s, request_id=request_id)

    def _replace_the_dead(self, within_s: float) -> None:
        """Only an answer tells: of a death a moment ago the kernel has not told us yet."""
        try:
            self._process.ask("ping", within_s)
        except LoadGeneratorDied:
            self._process.close(CLOSE_WITHIN_S)
            self._process = self._spawn()

    def _spawn(self) -> LoadProcess:
        return LoadProcess(self._hear, self._on_spawn)

    def _hear(self, report: Report) -> None:
        """On the reader's thread: hand the marks of the batch that plays now to its listener."""
        with self._listening:
            listener = self._listener
            if report.died is not None:
                self._tell_death(report, listener)
                return
            if listener is None or report.batch != self._batch:
                return
            try:
                for mark in report.marks:
                    listener(mark)
            except BaseException:
                self._listener = None  # it failed; it is not asked to hear about its own end
                raise
        if report.settled:
            self._settled.set()

    def _tell_death(self, report: Report, listener: Listener | None) -> None:
        if listener is not None and not self._settled.is_set():
            why = {"why": report.died}
            listener(Mark(report.at_ns, wire.CLIENT, Kind.TOOL_ERROR, "load_generator", detail=why))
        self._settled.set()


def check(requests: Sequence[Request]) -> None:
    """ValueError for a batch that cannot be played."""
    seen: set[str] = set()
    for request in requests:
        if request.request_id in seen:
            raise ValueError(f"two requests are called {request.request_id!r}")
        if request.after is not None and request.after not in seen:
            raise ValueError(
                f"{request.request_id!r} comes after {request.after!r}, which is not before it"
            )
        if request.tries_max < 1 or request.tokens_max < 1 or request.due_s < 0:
            raise ValueError(
                f"{request.request_id!r}: tries_max and tokens_max are at least 1 and due_s is"
                f" not negative, not {request.tries_max}, {request.tokens_max}, {request.due_s}"
            )
        seen.add(request.request_id)
