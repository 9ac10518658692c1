"""The guardian's own process: starts what the run needs, and undoes all of it afterwards.

It is the parent of everything (and, as a subreaper, of every orphan), so that nothing which
was started can be lost between its start and a registration. When its pipe closes, because
the run ended or was killed at any moment, it thaws, kills, heals and removes, and exits.
It imports the standard library only: it must start in milliseconds and never fail.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from stack import freezer, process_table

UNDO_MAX_S = 5  # the kernel ends the guardian itself after this
_KILL_MAX_S = 2.5
_PROXY_MAX_S = 1.0
_IN_FLIGHT_S = 0.5  # a request that the dead run had sent may still be carried out for so long
_LOOK_S = 0.2
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None)
Json = dict[str, Any]  # what was read from the pipe, narrowed where it is used


def main() -> None:
    """Serve the pipe on standard input until it closes, then undo."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    estate = Estate()
    try:
        serve(socket.socket(fileno=os.dup(0)), estate)
    finally:  # a bug in serving is no reason to leave anything behind
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(UNDO_MAX_S)
        estate.undo()


def serve(pipe: socket.socket, estate: Estate) -> None:
    """Answer one JSON line with another until the other end is gone."""
    parent, pending = os.getppid(), b""
    # A forked copy of the run may hold the pipe open; the parent's death counts as well.
    while os.getppid() == parent:
        estate.reap()
        if not select.select([pipe], [], [], _LOOK_S)[0]:
            continue
        data = b""
        with contextlib.suppress(ConnectionResetError):  # it died before it read our last answer
            data = pipe.recv(65536)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(OSError):  # the answer's reader is gone: the next recv says so
                pipe.sendall(json.dumps(estate.answer(json.loads(line))).encode() + b"\n")


class Estate:
    """What the run owns: its processes with their exits, and what must be undone."""

    def __init__(self) -> None:
        self.exits: dict[int, int] = {}
        self.kept: list[Json] = []

    def answer(self, ask: Json) -> Json:
        op = ask["op"]
        if op == "spawn":
            return self.spawn(ask)
        if op == "exit":
            self.reap()
            return {"code": self.exits.get(ask["pid"])}
        if op == "keep":
            if ask["thing"] not in self.kept:
                self.kept.append(ask["thing"])
        elif op == "release":
            self.kept = [thing for thing in self.kept if thing != ask["thing"]]
        elif op != "hello":
            return {"error": f"unknown op {op!r}"}
        return {}

    def spawn(self, ask: Json) -> Json:
        guardian = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(ask, guardian)
        found = process_table.identify(pid)
        assert found is not None  # unreaped, so it is at least a zombie
        return {"pid": pid, "start_ticks": found.start_ticks}

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self.exits[pid] = os.waitstatus_to_exitcode(status)

    def undo(self) -> None:
        """Thaw, kill, heal, remove, in this order: a frozen process cannot die.

        One step that fails must not keep the others from being done.
        """
        groups = [thing["path"] for thing in self._kept("cgroup")]
        for path in groups:
            with contextlib.suppress(OSError):
                freezer.thaw_group(Path(path))
        mapped: set[str] = set()
        with contextlib.suppress(OSError):
            mapped = self._mapped(groups)  # asked of the living
        with contextlib.suppress(OSError):
            self._kill(groups)
        with contextlib.suppress(OSError):
            self._take_off_proxies()
        for path in groups:
            with contextlib.suppress(OSError):
                freezer.remove_group(Path(path))
        for thing in self._kept("path"):
            _remove(Path(thing["path"]))
        for thing in self._kept("shm"):
            for name in (thing["prefix"], "sem." + thing["prefix"]):
                for path in Path("/dev/shm").glob(name + "*"):  # noqa: S108 - cleaned, not used
                    _remove(path)
        for path in mapped:
            _remove(Path(path))

    def _mapped(self, groups: list[str]) -> set[str]:
        if not self._kept("mapped"):
            return set()
        return process_table.mapped_shared_memory(self._victims(groups))

    def _take_off_proxies(self) -> None:
        """Twice: the run may have died with the order to make one still on its way."""
        proxies = self._kept("proxies")
        for pause_s in (0.0, _IN_FLIGHT_S):
            if proxies:
                time.sleep(pause_s)
            for thing in proxies:
                _delete_proxies(thing["api"], thing["names"])

    def _kept(self, kind: str) -> list[Json]:
        return [thing for thing in self.kept if thing["kind"] == kind]

    def _kill(self, groups: list[str]) -> None:
        deadline = time.monotonic() + _KILL_MAX_S
        while time.monotonic() < deadline:
            victims = self._victims(groups)
            if not victims:
                return
            for victim in victims:
                victim.signal(signal.SIGKILL)
            self.reap()
            time.sleep(0.01)

    def _victims(self, groups: list[str]) -> list[process_table.ProcessId]:
        found = process_table.tree(os.getpid())[1:]
        for thing in self._kept("process"):
            one = process_table.ProcessId(thing["pid"], thing["start_ticks"])
            found += process_table.tree(one.pid) if one.alive else []
        for thing in self._kept("group"):
            found += process_table.group_members(thing["group"])
        for path in groups:
            found += freezer.members(Path(path))
        return found


def _become(ask: Json, guardian: int) -> None:
    """In the child: turn into the program that was asked for. Never returns."""
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setpgid(0, 0)
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != guardian:  # it died before the death signal was set
            os._exit(127)
        log = os.open(ask["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 1024)
        os.chdir(ask["directory"])
        os.execve(ask["argv"][0], ask["argv"], ask["environment"])  # noqa: S606 - no shell wanted
    except BaseException as error:  # noqa: BLE001 - a forked child must not return into the loop
        if Path(ask["directory"]).is_dir():  # else the run has ended meanwhile: nobody waits for it
            os.write(2, f"cannot start {ask['argv'][0]}: {error}\n".encode())
    finally:
        os._exit(127)


def _delete_proxies(api: str, names: list[str]) -> None:
    import http.client  # noqa: PLC0415 - costs 20 ms of start-up that most runs need not pay
    from urllib.parse import quote, urlsplit  # noqa: PLC0415 - as above

    for name in names:
        with contextlib.suppress(OSError, http.client.HTTPException):
            caller = http.client.HTTPConnection(urlsplit(api).netloc, timeout=_PROXY_MAX_S)
            caller.request("DELETE", f"/proxies/{quote(name, safe='')}")
            caller.getresponse().read()
            caller.close()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
