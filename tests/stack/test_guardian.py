"""The guardian undoes what it was told of, whatever state it is in."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from stack import freezer
from stack.child_environment import child_environment
from stack.guardian import ROOT, Guardian, GuardianLost, Launch
from stack.guardian_process import Estate
from stack.process_table import ProcessId, group_members, identify, tree
from tests.stack.until import until

SLEEP = "import time; time.sleep(100)"


def python(code: str, directory: Path) -> Launch:
    return Launch(
        [sys.executable, "-I", "-S", "-c", code],
        child_environment({}),
        directory,
        directory / "log",
    )


def a_stranger() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEP])


def known(process: subprocess.Popen[bytes]) -> ProcessId:
    found = identify(process.pid)
    assert found is not None
    return found


def test_a_child_its_children_and_their_orphans_end_with_the_guardian(tmp_path: Path) -> None:
    guardian = Guardian()
    # The middle one leaves at once, so that the last is an orphan in a session of its own.
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
        "    open('orphan', 'w').write(str(os.getpid()))\n"
        "time.sleep(100)"
    )
    child = guardian.spawn(python(code, tmp_path))
    note = tmp_path / "orphan"
    until("the orphan wrote its pid", lambda: note.exists() and note.read_text())
    orphan = identify(int(note.read_text()))
    assert orphan is not None
    assert guardian.close()
    assert not child.alive
    assert not orphan.alive


def test_a_program_that_cannot_start_says_so_in_its_log(tmp_path: Path) -> None:
    guardian = Guardian()
    launch = Launch(["/nowhere/program"], {}, tmp_path, tmp_path / "log")
    child = guardian.spawn(launch)
    until("it ended", lambda: guardian.exit_code(child) is not None)
    assert guardian.exit_code(child) == 127
    assert "cannot start /nowhere/program" in (tmp_path / "log").read_text()
    guardian.close()


def test_an_exit_code_tells_the_signal_and_a_running_process_has_none(tmp_path: Path) -> None:
    guardian = Guardian()
    child = guardian.spawn(python(SLEEP, tmp_path))
    assert guardian.exit_code(child) is None
    child.signal(signal.SIGKILL)
    until("it is reaped", lambda: guardian.exit_code(child) == -signal.SIGKILL)
    guardian.close()


def test_a_kept_process_is_killed_and_one_with_another_start_time_is_not() -> None:
    guardian = Guardian()
    ours, stranger = a_stranger(), a_stranger()
    try:
        guardian.keep_process(known(ours))
        guardian.keep_process(ProcessId(stranger.pid, known(stranger).start_ticks - 1))
        guardian.close()
        assert ours.wait(5) == -signal.SIGKILL
        assert stranger.poll() is None
    finally:
        for one in (ours, stranger):
            one.kill()
            one.wait(5)


def test_a_kept_group_is_killed() -> None:
    guardian = Guardian()
    leader = subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEP], process_group=0)
    guardian.keep_group(leader.pid)
    guardian.close()
    assert leader.wait(5) == -signal.SIGKILL
    assert not group_members(leader.pid)


@pytest.mark.parametrize("last", [b'{"op": "hello"}\n', b"no JSON\n"])
def test_a_run_killed_while_an_answer_is_on_its_way_is_undone_all_the_same(
    tmp_path: Path, last: bytes
) -> None:
    """The kernel resets a socket whose other end closed with something unread. And a guardian
    that trips over what it reads must not go without its duty."""
    ours, theirs = socket.socketpair()
    kept = tmp_path / "kept"
    kept.mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        "from stack.guardian_process import main; main()"
    )
    guardian = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], stdin=theirs.fileno(), stderr=subprocess.DEVNULL
    )
    theirs.close()
    thing = {"kind": "path", "path": str(kept)}
    ours.sendall(json.dumps({"op": "keep", "thing": thing}).encode() + b"\n" + last)
    until("an answer waits to be read", lambda: select.select([ours], [], [], 0)[0])
    ours.close()
    guardian.wait(10)
    assert not kept.exists()


def test_it_thaws_before_it_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what is frozen would be killed in vain, for as long as there is."""
    done: list[str] = []

    def does(word: str) -> Callable[[object], None]:
        return lambda _: done.append(word)

    estate = Estate()
    estate.kept.append({"kind": "cgroup", "path": str(tmp_path)})
    monkeypatch.setattr(freezer, "thaw_group", does("thaw"))
    monkeypatch.setattr(estate, "_kill", does("kill"))
    monkeypatch.setattr(freezer, "remove_group", does("remove"))
    estate.undo()
    assert done == ["thaw", "kill", "remove"]


@pytest.mark.parametrize("how", ["signal", "cgroup"])
def test_a_frozen_child_ends_with_the_guardian(tmp_path: Path, how: str) -> None:
    guardian = Guardian()
    child = guardian.spawn(python(SLEEP, tmp_path))
    root = freezer.cgroup_root()
    group = (root or tmp_path) / f"pdchaos-test-{guardian.pid}"
    if how == "signal":
        child.signal(signal.SIGSTOP)
        until("it stopped", lambda: child.state == "T")
    elif root is None:
        pytest.skip("no cgroup freezer that we may write")
    else:
        guardian.keep_cgroup(group)
        freezer.freeze_group(group, [child], 2.0)
        assert freezer.is_frozen(group)
    assert guardian.close()
    assert not child.alive
    assert not group.exists()


def test_files_directories_and_shared_memory_are_removed_and_others_stay(tmp_path: Path) -> None:
    guardian = Guardian()
    prefix = f"pdchaos-test-{guardian.pid}-"
    shared = Path("/dev/shm") / f"{prefix}a"  # noqa: S108 - ours by its prefix
    shared.touch()
    (tmp_path / "directory" / "deep").mkdir(parents=True)
    (tmp_path / "stays").touch()
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(tmp_path / "socket"))
    for name in ("directory", "socket", "never made"):
        guardian.keep_path(tmp_path / name)
    guardian.keep_shared_memory(prefix)
    guardian.close()
    door.close()
    assert [one.name for one in tmp_path.iterdir()] == ["stays"]
    assert not shared.exists()


def test_what_was_released_is_not_undone(tmp_path: Path) -> None:
    guardian = Guardian()
    (tmp_path / "mine").touch()
    guardian.keep_path(tmp_path / "mine")
    guardian.release_path(tmp_path / "mine")
    guardian.close()
    assert (tmp_path / "mine").exists()


def test_proxies_of_a_server_that_is_not_ours_are_deleted_by_name() -> None:
    deleted: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_DELETE(self) -> None:
            deleted.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - silence
            pass

    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    guardian = Guardian()
    guardian.keep_proxies(f"http://127.0.0.1:{server.server_port}", ["ours-1", "ours/2"])
    guardian.close()
    server.shutdown()
    server.server_close()
    thread.join(5)
    assert deleted == ["/proxies/ours-1", "/proxies/ours%2F2"] * 2  # one may be in the making


def test_interrupt_and_terminate_do_not_end_the_guardian(tmp_path: Path) -> None:
    guardian = Guardian()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guardian.pid, number)
    assert guardian.spawn(python(SLEEP, tmp_path)).alive
    assert guardian.close()


def test_a_guardian_that_is_gone_is_an_error_and_takes_its_children_along(tmp_path: Path) -> None:
    guardian = Guardian()
    child = guardian.spawn(python(SLEEP, tmp_path))
    os.kill(guardian.pid, signal.SIGKILL)
    until("its child died with it", lambda: not child.alive)
    with pytest.raises(GuardianLost, match=str(guardian.pid)):
        guardian.spawn(python(SLEEP, tmp_path))
    assert not guardian.close()


def test_the_guardian_stands_outside_our_session_and_has_no_children_of_ours() -> None:
    guardian = Guardian()
    try:
        assert os.getsid(guardian.pid) == guardian.pid
        assert [one.pid for one in tree(guardian.pid)] == [guardian.pid]
    finally:
        guardian.close()
