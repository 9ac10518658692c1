"""Virtual environments of real engines: each has its own, beside ours, made from pinned lists."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

INSTALL_S = 1800.0  # five gigabytes over a slow line
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
IMPORT_S = 300.0  # the first import of torch on a cold disk


class NotInstalled(Exception):
    """An engine's environment is not there, not whole, or of another version."""


class InstallFailed(Exception):
    """A step of an installation failed; the message says which one and what is missing."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One engine's environment: what goes in, and what must import for it to be whole."""

    engine: str
    version: str
    made_for: str  # the Python that the pins are for, "3.11"
    requirements: Path  # a full list of pins: nothing is resolved, so nothing can drift
    imports: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]  # a library's file name, and how to get it

    @property
    def folder(self) -> Path:
        home = os.environ.get("PDCHAOS_ENGINES") or Path.home() / ".cache" / "pd-chaos" / "engines"
        return Path(home) / f"{self.engine}-{self.version}"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """Written last: an installation that was interrupted has none."""
        return self.folder / "pd-chaos.stamp"

    def has_accelerator(self) -> bool:
        """Whether this machine has an NVIDIA GPU, and the engine the kernels to use it."""
        kernels = any(self.folder.glob("lib/python*/site-packages/sgl_kernel"))
        return kernels and Path("/dev/nvidiactl").exists()

    def digest(self) -> str:
        return hashlib.sha256(self.requirements.read_bytes()).hexdigest()

    def installed(self) -> bool:
        whole = self.stamp.is_file() and self.python.exists()
        return whole and self.stamp.read_bytes() == self.digest().encode()

    def require(self) -> Path:
        """The environment's interpreter. Raises NotInstalled with the command that helps."""
        if self.installed():
            return self.python
        found = "another version or half an installation" if self.folder.exists() else "nothing"
        raise NotInstalled(
            f"{self.engine} {self.version} is not installed: expected it in {self.folder}, found "
            f"{found}; run `python -m stack install {self.engine}`"
        )


def install(environment: Environment, say: Callable[[str], None]) -> None:
    """Make the environment, or do nothing where it is whole already. Raises InstallFailed."""
    if environment.installed():
        say(f"{environment.engine} {environment.version} is installed: {environment.folder}")
        return
    if environment.made_for != PYTHON:
        raise InstallFailed(f"its pins are for Python {environment.made_for}, this is {PYTHON}")
    try:
        environment.stamp.unlink(missing_ok=True)
    except OSError as error:
        raise InstallFailed(f"{environment.folder} cannot be made: {error}") from error
    uv = [shutil.which("uv") or _own_uv(environment, say)]
    python = str(environment.python)
    say(f"making a virtual environment in {environment.folder}")
    _step("venv", [*uv, "venv", "--clear", "--python", sys.executable, str(environment.folder)])
    pins = len(environment.requirements.read_text().splitlines())
    say(f"installing {pins} pinned packages, byte-compiled (some gigabytes)")
    into = ["pip", "install", "--python", python, "--no-deps", "--compile-bytecode"]
    _step("install", [*uv, *into, "-r", str(environment.requirements)])
    say(f"importing {', '.join(environment.imports)}")
    _check_imports(environment)
    environment.stamp.write_text(environment.digest())
    say(f"{environment.engine} {environment.version} is ready")


def _own_uv(environment: Environment, say: Callable[[str], None]) -> str:
    """uv from the package index, in a folder beside the engine's: ours may be read-only."""
    home = environment.folder.parent / "uv"
    say("uv is not on PATH: installing it beside the engine")
    _step("venv of uv", [sys.executable, "-m", "venv", str(home)])
    _step("uv", [str(home / "bin" / "python"), "-m", "pip", "install", "-q", "uv"])
    return str(home / "bin" / "uv")


def _check_imports(environment: Environment) -> None:
    code = "\n".join(f"import {name}" for name in environment.imports)
    try:
        _step("import", [str(environment.python), "-c", code], IMPORT_S)
    except InstallFailed as failed:
        for file, remedy in environment.missing:
            if file in str(failed):
                raise InstallFailed(f"{file} is missing: {remedy}") from failed
        raise


def _step(name: str, command: list[str], timeout_s: float = INSTALL_S) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - words of ours, an interpreter and paths
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise InstallFailed(f"step {name!r} took longer than {timeout_s:g} s") from late
    except OSError as error:
        raise InstallFailed(f"step {name!r} did not start: {error}") from error
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise InstallFailed(f"step {name!r} failed with exit code {done.returncode}:\n{last}")
