"""One node's process: started, watched, replaced in place when it dies, and stopped."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from stack.death import DeathWatch, Witness
from stack.guardian import GuardianLost
from stack.log_tail import last_lines
from stack.nursery import NurseryLost
from stack.ports import is_listening
from stack.process_table import (
    ProcessId,
    exit_code,
    group_members,
    tree,
    wait_all_exit,
    wait_any_exit,
    wait_exit,
)

_LOOK_S: Final = 0.05
_READY_EVERY_S: Final = 0.02
_TERM_MAX_S: Final = 1.0
_KILL_MAX_S: Final = 2.0
_SHORT_LIFE_S: Final = 1.0
_SHORT_LIVES_MAX: Final = 3  # then it is no accident, and starting it again would hide that


def _not_yet(ready: bool) -> bool:  # noqa: FBT001 - tenacity calls it with the result
    return not ready


class NodeFailed(Exception):
    """A node did not start, did not become ready or would not die; says which, and its log.

    `own_doing`: its program ended or stayed silent, and nothing around it is to blame.
    """

    def __init__(self, why: str, exit_code: int | None = None, *, own_doing: bool = False) -> None:
        super().__init__(why)
        self.exit_code = exit_code
        self.own_doing = own_doing


class Program(Protocol):
    """What a node runs, and how to see that it answers."""

    @property
    def ports(self) -> Sequence[int]:
        """The ports it will listen on."""
        ...

    def start(self, log: Path) -> ProcessId:
        """Start it as the leader of a process group of its own."""
        ...

    def exit_code(self, process: ProcessId) -> int | None: ...

    def ready(self, process: ProcessId) -> bool:
        """One bounded look: does this very process answer now?"""
        ...


class NodeProcess:
    """A supervised process. While a fault holds it down it is not replaced.

    A witness is told of each of its processes that ends without an order: neither killed nor
    replaced nor stopped by us, nor inside `dying_for_us`.
    """

    def __init__(
        self, name: str, program: Program, log: Path, witness: Witness | None = None
    ) -> None:
        self.name = name
        self.log = log
        self.program = program
        self.replacements = 0
        self._deaths = DeathWatch(name, log, witness or Witness())
        self._process: ProcessId | None = None
        self._held = True
        self._failure: NodeFailed | None = None
        self._short_lives = 0
        self._began_s = 0.0
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._supervise, name=f"watch {name}", daemon=True)

    @property
    def process(self) -> ProcessId | None:
        """The running process, or None while it is down."""
        process = self._process
        return process if process is not None and process.alive else None

    @property
    def held(self) -> bool:
        """Whether a fault holds it down, or it has never answered yet."""
        return self._held

    @property
    def failure(self) -> NodeFailed | None:
        """Why it is not started again any more, or None."""
        return self._failure

    def tree(self) -> list[ProcessId]:
        """The process and its descendants, parents first; empty while it is down."""
        process = self.process
        return tree(process.pid) if process is not None else []

    def start(self) -> None:
        """Start it, without waiting for it to answer. Raises NodeFailed for a taken port.

        Until it has answered once, its death is an error and no reason to replace it.
        """
        with self._lock:
            self._begin(self.program)
        if not self._watch.is_alive():
            self._watch.start()

    def await_ready(self, timeout_s: float) -> None:
        """Wait until it answers; from then on it is replaced whenever it dies.

        Raises NodeFailed with its last log lines.
        """
        looks = Retrying(
            stop=stop_after_delay(timeout_s),
            wait=wait_fixed(_READY_EVERY_S),
            retry=retry_if_result(_not_yet),
        )
        try:
            looks(self._look)
        except RetryError:
            raise NodeFailed(
                f"{self.name} did not become ready in {timeout_s:g} s; its last lines:\n"
                f"{last_lines(self.log)}",
                own_doing=True,
            ) from None
        with self._lock:
            self._deaths.look(self.tree())
            self._held = False

    @contextmanager
    def dying_for_us(self) -> Generator[None]:
        """While inside, a death is the doing of a fault that makes the node kill itself."""
        with self._lock:
            self._deaths.for_us += 1
        try:
            yield
        finally:
            with self._lock:
                self._deaths.for_us -= 1

    def kill(self) -> list[ProcessId]:
        """SIGKILL it with all its descendants and hold it down. Returns what died."""
        with self._lock:
            self._held = True
            return self._end(signal.SIGKILL, 0.0)

    def hold(self) -> None:
        """From now on its death is somebody's doing: do not replace it."""
        with self._lock:
            self._held = True

    def restart(self, timeout_s: float, program: Program | None = None) -> ProcessId:
        """End it if it runs, start it (as another program, if given), wait until it answers."""
        with self._lock:
            self._held = True
            self._end(signal.SIGKILL, 0.0)
            self._failure, self._short_lives = None, 0
            process = self._begin(program or self.program)
        self.await_ready(timeout_s)
        return process

    def ask_to_end(self) -> None:
        """SIGTERM, without waiting: several can say farewell at the same time."""
        self._closing.set()
        with self._lock:
            self._held = True
            if self._process is not None:
                self._process.signal(signal.SIGTERM)

    def stop(self, grace_s: float = _TERM_MAX_S) -> None:
        """End it for good: SIGTERM, then SIGKILL."""
        self._closing.set()
        with self._lock:
            self._held = True
            self._end(signal.SIGTERM, grace_s)
        if self._watch.is_alive():
            self._watch.join(_KILL_MAX_S)

    def _begin(self, program: Program) -> ProcessId:
        for port in program.ports:
            if is_listening(port):
                raise NodeFailed(f"{self.name} cannot start: port {port} is already in use")
        self.program = program
        self._began_s = time.monotonic()
        self._process = program.start(self.log)
        return self._process

    def _look(self) -> bool:
        process = self._process
        assert process is not None
        if self._failure is not None:
            raise self._failure
        if not process.alive and self._held:
            raise self._death(process)
        return self.program.ready(process)

    def _exit_code(self, dead: ProcessId) -> int | None:
        with suppress(GuardianLost, NurseryLost):  # then nobody knows any more
            code = exit_code(dead)
            return self.program.exit_code(dead) if code is None else code
        return None

    def _death(self, process: ProcessId) -> NodeFailed:
        code = self.program.exit_code(process)
        return NodeFailed(
            f"{self.name} exited with code {code} at its start; its last lines:\n"
            f"{last_lines(self.log)}",
            code,
            own_doing=True,
        )

    def _end(self, first: signal.Signals, grace_s: float) -> list[ProcessId]:
        process = self._process
        if process is None:
            return []
        victims = tree(process.pid) if process.alive else []
        # An orphan of a leader that has died already is no descendant any more.
        victims += [one for one in group_members(process.pid) if one not in victims]
        if grace_s and process.signal(first):
            wait_exit(process, grace_s)
        ended: list[ProcessId] = []
        while victims:
            for victim in victims:
                victim.signal(signal.SIGKILL)
            left = wait_all_exit(victims, _KILL_MAX_S)
            if left:
                raise NodeFailed(f"{self.name}: pid {[one.pid for one in left]} survived SIGKILL")
            ended += victims
            # What one of them forked while we looked is alone now, and has its sockets.
            victims = group_members(process.pid)
        return ended

    def _supervise(self) -> None:
        while not self._closing.is_set():
            process = self._process
            if process is None or self._held or self._failure is not None:
                self._closing.wait(_LOOK_S)
                continue
            if self._deaths.wants_a_look:
                self._deaths.look(self.tree())
            ended = wait_any_exit(self._deaths.watched(process), _LOOK_S)
            if process in ended:
                self._replace(process)
            elif ended:
                self._lose(ended)

    def _lose(self, ended: Sequence[ProcessId]) -> None:
        """Processes of it ended before its first one did."""
        with self._lock:  # and it may have been restarted since
            for one in self._deaths.of_now(ended):
                self._deaths.ended(one, exit_code(one), ordered=self._held)

    def _replace(self, dead: ProcessId) -> None:
        with self._lock:
            if self._held or self._process is not dead or self._closing.is_set():
                return
            self._deaths.ended(dead, self._exit_code(dead), ordered=False)
            self._deaths.look(())  # what is left of it ends with it
            short = time.monotonic() - self._began_s < _SHORT_LIFE_S
            self._short_lives = self._short_lives + 1 if short else 0
            if self._short_lives >= _SHORT_LIVES_MAX:
                self._failure = self._death(dead)
                return
            try:
                self._end(signal.SIGKILL, 0.0)
            except NodeFailed:
                return  # its child is frozen by a fault and dies when thawed: look again then
            try:
                self._begin(self.program)
                self.replacements += 1
            except NodeFailed as failure:
                self._failure = failure
            except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
                self._failure = NodeFailed(f"{self.name} could not be replaced: {error!r}")
