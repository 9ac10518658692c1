"""The load generator as a child process: its pipes, its reader thread, its end."""

from __future__ import annotations

import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from chaos.event import Mark
from stack.load_generator import wire

ROOT: Final = Path(__file__).resolve().parents[1]  # where `stack` and `chaos` are found
SPAWN_WITHIN_S: Final = 10.0
LAST_WORDS_BYTES: Final = 4000


class LoadGeneratorDied(Exception):
    """Our own tool is gone: nothing can be said about the stack."""


@dataclass(frozen=True, slots=True)
class Report:
    """One line from the load generator, or the news of its death."""

    at_ns: int
    batch: int = 0
    marks: tuple[Mark, ...] = ()
    settled: bool = False
    died: str | None = None


class LoadProcess:
    """Started by its own reader thread: the kernel's parent-death signal follows the thread that
    forked, so that thread must live as long as the child does.
    """

    def __init__(
        self, hear: Callable[[Report], None], on_spawn: Callable[[int], None] | None = None
    ) -> None:
        self._hear = hear
        self._answers: dict[int, queue.SimpleQueue[object]] = {}
        self._commands = 0
        self._lock = threading.Lock()  # one writer at a time; also numbers the commands
        self._died: str | None = None
        spawned: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
        self._reader = threading.Thread(
            target=self._live, args=(spawned,), name="load-generator", daemon=True
        )
        self._reader.start()
        child = spawned.get(timeout=SPAWN_WITHIN_S)
        if isinstance(child, OSError):
            raise child
        self._child = child
        if on_spawn is not None:
            on_spawn(child.pid)

    @property
    def pid(self) -> int:
        return self._child.pid

    def check(self) -> None:
        """LoadGeneratorDied, with its last words, if it did."""
        if self._died is not None:
            raise LoadGeneratorDied(self._died)

    def ask(self, command: str, timeout_s: float, **arguments: object) -> object:
        """Send one command and return its answer.

        TimeoutError: no answer in the bound. LoadGeneratorDied: there will be none.
        """
        deadline_s = time.monotonic() + timeout_s
        answer: queue.SimpleQueue[object] = queue.SimpleQueue()
        if not self._lock.acquire(timeout=timeout_s):
            raise TimeoutError(f"the load generator did not take commands for {timeout_s} s")
        try:
            self._commands += 1
            number = self._commands
            self._answers[number] = answer
            self.check()
            self._write(wire.line({"command": command, "id": number, **arguments}), deadline_s)
        finally:
            self._lock.release()
        try:
            value = answer.get(timeout=max(0.0, deadline_s - time.monotonic()))
        except queue.Empty:
            self.check()
            raise TimeoutError(f"the load generator did not {command} in {timeout_s} s") from None
        finally:
            del self._answers[number]
        if isinstance(value, LoadGeneratorDied):
            raise value
        return value

    def close(self, within_s: float) -> None:
        """Kill it, and wait for the reader thread to have reaped it. Idempotent."""
        if self._reader.is_alive():
            self._child.kill()  # it holds nothing that is worth a farewell
        self._reader.join(within_s)

    def _write(self, data: bytes, deadline_s: float) -> None:
        assert self._child.stdin is not None
        pipe = self._child.stdin.fileno()
        rest = data
        while rest:
            left_s = max(0.0, deadline_s - time.monotonic())
            if not select.select([], [pipe], [], left_s)[1]:
                if rest != data:  # the next command would begin in the middle of this one
                    self._child.kill()
                raise TimeoutError("the load generator does not read its commands")
            try:
                rest = rest[os.write(pipe, rest) :]
            except BrokenPipeError:
                raise LoadGeneratorDied("it closed its standard input") from None

    def _live(self, spawned: queue.SimpleQueue[subprocess.Popen[bytes] | OSError]) -> None:
        """The reader thread: the child's whole life."""
        with tempfile.TemporaryFile() as last_words:
            try:
                child = _spawn(last_words)
            except OSError as error:
                self._died = repr(error)
                spawned.put(error)
                return
            spawned.put(child)
            why = ""
            try:
                self._read(child)
            except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
                why = f"its reader failed with {error!r}; "
            child.kill()  # a child that only closed its pipe, or that has no reader any more
            code = child.wait()
            self._tell_death(f"{why}it ended with code {code}: {_tail(last_words)}")
            self._close_pipes(child)

    def _read(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        for text in child.stdout:
            if not text.endswith(b"\n"):
                return  # it died in the middle of a line
            message = wire.message(text)
            if "answer" in message:
                answer = self._answers.get(message["answer"])
                if answer is not None:
                    answer.put(message["value"])
                continue
            marks = tuple(wire.marks_in(message.get("marks", ())))
            settled = bool(message.get("settled"))
            self._hear(Report(time.monotonic_ns(), message["batch"], marks, settled))

    def _close_pipes(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        with self._lock:  # a writer that has just looked whether it lives must not hit a new file
            child.stdin.close()
        child.stdout.close()

    def _tell_death(self, why: str) -> None:
        self._died = f"the load generator died: {why}"
        for answer in list(self._answers.values()):
            answer.put(LoadGeneratorDied(self._died))
        self._hear(Report(time.monotonic_ns(), died=self._died))


def _spawn(last_words: IO[bytes]) -> subprocess.Popen[bytes]:
    """`-P` and our own root: what lies in the working directory must not shadow a module."""
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no outside input
        [sys.executable, "-P", "-m", "stack.load_generator", "--parent", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=last_words,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        process_group=0,  # Ctrl-C in the terminal is for the tests to handle
    )
    assert child.stdin is not None
    os.set_blocking(child.stdin.fileno(), False)
    return child


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LAST_WORDS_BYTES))
    return file.read().decode("utf-8", "replace").strip()
