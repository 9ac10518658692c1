"""Both Toxiproxy servers, each behind a switchboard, and a wire through either."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack.links import Switchboard
from tests.fakes.wire import Wire, opened


@pytest.fixture(scope="module", params=["real", "embedded"])
def board(request: pytest.FixtureRequest) -> Iterator[Switchboard]:
    with opened(request.param, request.config) as switchboard:
        yield switchboard


@pytest.fixture
def wire(board: Switchboard) -> Iterator[Wire]:
    with Wire(board) as one:
        yield one


@pytest.fixture(params=["upstream", "downstream"])
def stream(request: pytest.FixtureRequest) -> str:
    return str(request.param)
