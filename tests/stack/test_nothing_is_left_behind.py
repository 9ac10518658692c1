"""A run that is killed at any moment leaves no process, port, proxy, cgroup, memory or file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from stack import freezer
from stack.guardian import ROOT
from stack.links import Switchboard
from stack.ports import is_listening
from tests.stack.until import until

CLEAN_WITHIN_S = 5.0
CGROUPS = freezer.cgroup_root()
UP_WITHIN_S = 60.0  # torch is imported, on a machine where everybody does that
_SEED = Random("sigkill")
EARLY = sorted(round(_SEED.uniform(0.02, 2.0), 3) for _ in range(16))


@dataclass
class Doomed:
    """The child, what it said, and where to look for what it left."""

    process: subprocess.Popen[str]
    directory: Path
    ports: frozenset[int]
    strangers: frozenset[int]  # ports of its range that others listened on before
    guardian: int | None = None

    def hear(self, word: str) -> None:
        """Read on until it says this."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            first, *rest = line.split()
            if first == "guardian":
                self.guardian = int(rest[0])
            if first == word:
                return
        raise AssertionError(f"it ended before it said {word!r}")

    def kill(self) -> None:
        """SIGKILL, and hear what it had said before."""
        self.process.kill()
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("guardian"):
                self.guardian = int(line.split()[1])
        self.process.wait(5)

    def left(self) -> list[str]:
        """Everything of it that still exists."""
        found = [f"process {pid}" for pid in self._processes()]
        found += [f"file {path}" for path in self.directory.iterdir()]
        if self.guardian is not None:
            mine = f"pdchaos-{self.guardian}-*"
            groups = [] if CGROUPS is None else list(CGROUPS.glob(mine))
            found += [f"cgroup {path}" for path in groups]
            found += [f"memory {path}" for path in Path("/dev/shm").glob(mine)]  # noqa: S108 - looked at
        found += [f"port {port}" for port in self.ports - self.strangers if is_listening(port)]
        return found

    def _processes(self) -> Iterator[int]:
        """By the directory they work in or were told of: every child of the run has one."""
        mark = os.fsencode(self.directory)
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                told = (entry / "environ").read_bytes()
                works = os.fsencode((entry / "cwd").readlink())
            except OSError:
                continue  # it has just ended
            if mark in told or works.startswith(mark):
                yield int(entry.name)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Short, because unix sockets have short names; outside pytest's own directories."""
    path = Path("/tmp") / f"pdx-{os.getpid()}-{tmp_path.name[-12:]}"  # noqa: S108 - made and removed here
    path.mkdir()
    yield path
    shutil.rmtree(path)


@contextmanager
def doomed(directory: Path, errand: str, toxiproxy: str | None = None) -> Generator[Doomed]:
    low = 31_000 + os.getpid() % 20 * 50  # fifty ports of its own, which can be looked at all
    ports = frozenset(range(low, low + 50))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(directory),
        "PDCHAOS_PORTS": f"{low}-{low + 49}",
        **({"TOXIPROXY_URL": toxiproxy} if toxiproxy else {}),
    }
    strangers = frozenset(port for port in ports if is_listening(port))
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.stack.doomed", errand],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as process:
        try:
            yield Doomed(process, directory, ports, strangers)
        finally:
            process.kill()


def assert_nothing_is_left(child: Doomed) -> None:
    deadline_s = time.monotonic() + CLEAN_WITHIN_S
    while left := child.left():
        assert time.monotonic() < deadline_s, left
        time.sleep(0.02)


@pytest.mark.parametrize("after_s", EARLY)
def test_a_sigkill_while_the_stack_comes_up_leaves_nothing(directory: Path, after_s: float) -> None:
    with doomed(directory, "none") as child:
        if EARLY.index(after_s) % 2:
            child.hear("guardian")  # else also while the interpreter itself starts
        time.sleep(after_s)  # the moment is the point
        child.kill()
        assert_nothing_is_left(child)


@pytest.mark.parametrize("errand", ["frozen", "down"])
def test_a_sigkill_while_a_fault_is_on_leaves_nothing(directory: Path, errand: str) -> None:
    with doomed(directory, errand) as child:
        child.hear("done")
        assert child.left()  # or the look would not be worth anything
        child.kill()
        assert_nothing_is_left(child)


@pytest.mark.parametrize("after_s", [0.0, 0.9])
def test_a_sigkill_takes_our_proxies_off_somebody_else_s_toxiproxy(
    directory: Path, after_s: float
) -> None:
    with closing(Switchboard()) as board:
        board.__enter__()
        stranger = board.link("stranger", "127.0.0.1", 9, 0)

        def proxies() -> set[str]:
            with urllib.request.urlopen(f"{board.api_url}/proxies", timeout=2) as answer:  # noqa: S310 - our own server
                return set(json.load(answer))

        before = proxies()
        with doomed(directory, "none", board.api_url) as child:
            until("its links are made", lambda: len(proxies()) > 1, UP_WITHIN_S)
            time.sleep(after_s)  # the moment is the point
            child.kill()
            until("its proxies are gone", lambda: proxies() == before, CLEAN_WITHIN_S)
            assert_nothing_is_left(child)
        assert stranger.listen_port
