"""A live embedded stack for a module's tests, brought up once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack.drivers.embedded import EmbeddedDriver
from stack.embedded_stack import EmbeddedStack
from stack.plan import Plan


@pytest.fixture(scope="module")
def live() -> Iterator[EmbeddedStack]:
    """One prefill, one decode, behind smg."""
    with EmbeddedDriver(Plan()).launch() as stack:
        yield stack
