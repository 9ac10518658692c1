"""Tools that not every machine has: absent ones skip a test, unless PDCHAOS_REQUIRE names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaos import requirements

ROOT = Path(__file__).resolve().parents[2]


def program(tool: str) -> str:
    """The path of a tool that ci/setup brings; skips, or fails where it is required."""
    found = requirements.program(tool)
    if found is not None:
        return found
    if tool in os.environ.get("PDCHAOS_REQUIRE", "").split(","):
        pytest.fail(f"PDCHAOS_REQUIRE names {tool}, and it is not here: ci/setup {tool}")
    pytest.skip(f"no {tool} on this machine: ci/setup {tool}")
