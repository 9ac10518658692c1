"""The tiny model that a real engine serves here: made once, in the engine's own environment."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from stack.child_environment import child_environment
from stack.environments import Environment

MAKER: Final = Path(__file__).parent / "sglang_cpu" / "make_model.py"
MAKE_MAX_S: Final = 300.0  # ten seconds on an idle machine: it imports torch and transformers


class NoModel(Exception):
    """The tiny model could not be made; the message is its maker's last words."""


def tiny_model(environment: Environment, seed: int = 0) -> Path:
    """Its folder, made where it is not there yet. Raises NotInstalled, NoModel."""
    python = environment.require()
    digest = hashlib.sha256(MAKER.read_bytes()).hexdigest()[:12]
    folder = environment.folder / "models" / f"tiny-{seed}-{digest}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(exist_ok=True)
    # Made beside its place and moved there: two runs may make it at once, and one may be killed.
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=folder.parent))
    try:
        _make(python, draft, seed)
        if not folder.is_dir():
            os.rename(draft, folder)  # noqa: PTH104 - fails where another run was quicker, as wanted
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _make(python: Path, folder: Path, seed: int) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own script, in the engine's interpreter
            [python, "-P", MAKER, folder, str(seed)],
            capture_output=True,
            text=True,
            timeout=MAKE_MAX_S,
            check=False,
            env=child_environment({"HF_HUB_OFFLINE": "1"}),
        )
    except subprocess.TimeoutExpired as late:
        raise NoModel(f"the tiny model was not made in {MAKE_MAX_S:g} s") from late
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise NoModel(f"the tiny model could not be made (exit code {done.returncode}):\n{last}")
