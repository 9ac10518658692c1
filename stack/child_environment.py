"""The environment that a child of ours gets: an allow-list, so that no secret travels."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping

# Proxy variables stay out on purpose: a router would send its worker traffic through them.
_PASSED = (
    "PATH", "HOME", "USER", "LANG", "LC_*", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH",
    "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "COVERAGE_PROCESS_START",
    "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TRITON_*",
)  # fmt: skip
_SHOWN = (*_PASSED, "PDCHAOS_*", "SGLANG_*", "PYTHONPATH", "NO_COLOR", "RUST_LOG")
_SECRET = ("*TOKEN*", "*KEY*", "*SECRET*", "*PASSW*", "*CREDENTIAL*", "*AUTH*")
REDACTED = "(redacted)"


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What passes from our own environment, and what this child gets in addition."""
    passed = {name: value for name, value in os.environ.items() if _matches(name, _PASSED)}
    # One thread for each worker: several share two cores, and a forked pool would be dead.
    return {"OMP_NUM_THREADS": "1", **passed, **extra}


def shown(environment: Mapping[str, str]) -> dict[str, str]:
    """What may stand in a report: known names only, and nothing that looks like a secret."""
    return {
        name: REDACTED if _matches(name, _SECRET) and not name.endswith("_TOKENS") else value
        for name, value in sorted(environment.items())
        if _matches(name, _SHOWN)
    }


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
