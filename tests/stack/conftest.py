"""Fixtures of the tests that need processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack.guardian import Guardian


@pytest.fixture(scope="module")
def guardian() -> Iterator[Guardian]:
    """A guardian for a module's tests; that it undoes everything is asserted at the end."""
    made = Guardian()
    yield made
    assert made.close()
