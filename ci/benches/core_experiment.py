"""Experiments on the engine's core, which the tests run small and the bench runs large."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from ci.benches.effort import NotMeasured
from ci.benches.measuring import ROOT


def core_experiment(name: str, count: int, bound_s: float) -> dict[str, Any]:
    """What the experiment's process tells, and `took_s`. NotMeasured: it failed or was late."""
    command = [sys.executable, "-m", "tests.stack.engine.core_process", name, str(count)]
    began_s = time.monotonic()
    try:
        ended = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, cwd=ROOT, capture_output=True, text=True, timeout=bound_s, check=True
        )
    except subprocess.CalledProcessError as failed:
        raise NotMeasured(f"{name} {count} failed: {failed.stderr[-200:]}") from failed
    except subprocess.TimeoutExpired as late:
        raise NotMeasured(f"{name} {count} took longer than {bound_s:.0f} s") from late
    return {**json.loads(ended.stdout), "took_s": time.monotonic() - began_s}
