"""Experiments on the engine's core, which the tests run small and the bench runs large."""

from __future__ import annotations

import json
import time
from typing import Any

from ci.benches.mortal import told


def core_experiment(name: str, count: int, bound_s: float) -> dict[str, Any]:
    """What the experiment's process tells, and `took_s`. NotMeasured: it failed or was late."""
    began_s = time.monotonic()
    said = told(["-m", "tests.stack.engine.core_process", name, str(count)], bound_s)
    return {**json.loads(said), "took_s": time.monotonic() - began_s}
