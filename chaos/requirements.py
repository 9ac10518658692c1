"""What a run may insist on: parts that are replaced or skipped where they are missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

TOOLS = Path(".chaos") / "tools" / "bin"  # where ci/setup puts what it installs


def program(name: str) -> str | None:
    """The path of a program that ci/setup or the machine brings."""
    path = f"{TOOLS.absolute()}{os.pathsep}{os.environ.get('PATH', '')}"
    return shutil.which(name, path=path)


def engine(name: str) -> str | None:
    """Where this engine's own environment is, whole and of our version; see stack.environments.

    Looked for by its stamp, without importing a stack: `chaos` knows no engine.
    """
    home = os.environ.get("PDCHAOS_ENGINES") or Path.home() / ".cache" / "pd-chaos" / "engines"
    stamps = sorted(Path(home).glob(f"{name}-*/pd-chaos.stamp"))
    return str(stamps[-1].parent) if stamps else None


KNOWN: Mapping[str, Callable[[], bool]] = {
    "toxiproxy": lambda: bool(os.environ.get("TOXIPROXY_URL") or program("toxiproxy-server")),
    "chromium": lambda: program("chromium") is not None,
    "allure": lambda: program("allure") is not None,
    "sglang": lambda: engine("sglang") is not None,
}


def missing(required: str) -> tuple[str, ...]:
    """One line for each part of "toxiproxy,chromium" that is not here. ValueError for others."""
    names = [name.strip() for name in required.split(",") if name.strip()]
    if unknown := [name for name in names if name not in KNOWN]:
        raise ValueError(f"--require: unknown {', '.join(unknown)}; known: {', '.join(KNOWN)}")
    return tuple(f"{name} is not on this machine" for name in names if not KNOWN[name]())
