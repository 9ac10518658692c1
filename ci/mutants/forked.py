"""Plays pytest in a forked child in which one module of ours is broken; nothing on disk is changed.

The parent has imported pytest and Hypothesis, and none of our modules: a child imports those anew,
with the broken text in place of one. What a child costs is its own imports and its tests.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import resource
import select
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from time import monotonic
from types import CodeType, ModuleType
from typing import Final

GREEN, RED, BROKEN_COLLECTION = 0, 1, 2  # pytest's exit codes
CPU_S_MAX: Final = 90  # of one child: a mutant that loops for ever is stopped by the kernel
WALL_S_MAX: Final = 900.0


@dataclass(frozen=True, slots=True)
class Job:
    """Tests to play; `file`: the module that is broken, or None for whole code."""

    number: int
    tests: Sequence[str]
    file: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    job: Job
    ended: int | None  # pytest's exit code; None: a signal ended it, or its bound was over
    output: str


class Replaced(importlib.machinery.SourceFileLoader):
    """Gives one module another text than its file has, and never a cached one."""

    text = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


class Finder:
    """Stands before all other finders, pytest's own included, and knows one module."""

    def __init__(self, root: Path, file: str, text: str) -> None:
        self._name = file.removesuffix(".py").replace("/", ".")
        self._path, self._text = str(root / file), text
        self._loaded = False

    def pytest_configure(self) -> None:
        sys.meta_path.insert(0, self)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """A mutant that nobody imported was not judged."""
        if exitstatus == GREEN and not self._loaded:
            raise RuntimeError(f"{self._name} was never imported")

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        loader = Replaced(name, self._path)
        loader.text = self._text
        self._loaded = True
        return importlib.util.spec_from_file_location(name, self._path, loader=loader)


MetaPathFinder.register(Finder)


def play(root: Path, jobs: Sequence[Job], folder: Path, at_once: int) -> Iterator[Played]:
    """Each job in a child of its own, so many at once; in the order in which they end."""
    for name in ("pytest", "hypothesis"):
        importlib.import_module(name)  # once, before the children fork
    waiting, running = list(jobs), dict[int, tuple[int, Job, float]]()
    while waiting or running:
        while waiting and len(running) < at_once:
            job = waiting.pop(0)
            pid = _fork(root, job, folder)
            running[os.pidfd_open(pid)] = (pid, job, monotonic() + WALL_S_MAX)
        ended, _, _ = select.select(list(running), [], [], 1.0)
        overdue = [fd for fd, (_, _, until) in running.items() if monotonic() > until]
        for fd in overdue:
            os.kill(running[fd][0], 9)
        for fd in {*ended, *overdue}:
            pid, job, _ = running.pop(fd)
            os.close(fd)
            status = os.waitpid(pid, 0)[1]
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            yield Played(job, code, (folder / str(job.number)).read_text(errors="replace"))


def _fork(root: Path, job: Job, folder: Path) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 3  # pytest's own word for "something inside failed"
        try:
            code = _child(root, job, folder)
        except BaseException:  # noqa: BLE001 - a child has nobody to raise to
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def _child(root: Path, job: Job, folder: Path) -> int:
    import pytest  # noqa: PLC0415 - imported by the parent already

    out = os.open(folder / str(job.number), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
    os.chdir(root)
    sys.dont_write_bytecode = True
    for name in [one for one in sys.modules if one.partition(".")[0] == "chaos"]:
        del sys.modules[name]  # the parent may know it: the mutant must be imported anew
    broken = [] if job.file is None else [Finder(root, job.file, job.text)]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the judge's tests need none of them
    options = ["-q", "-x", "--no-header", "--tb=no", "--noconftest", "-p", "no:cacheprovider"]
    return int(pytest.main([*options, *job.tests], plugins=broken))
