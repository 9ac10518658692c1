"""Many streamed requests at once through the router, held open by a fault."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from random import Random
from typing import Final

from chaos.contracts import Stack
from faults.raw_stream import Ask, RawStream, streamed_body

COMPLETIONS: Final = "/v1/completions"
ARRIVED_S: Final = 0.05  # to read an answer that has come while another one was waited for


@contextmanager
def opened(
    stack: Stack, rng: Random, name: str, count: int, tokens: int, within_s: float
) -> Generator[list[RawStream]]:
    """`count` requests of `tokens` tokens, sent and not read; all are closed at the end."""
    with ExitStack() as open_ones:
        streams: list[RawStream] = []
        for index in range(count):
            body = streamed_body(rng, tokens, stack.model)
            ask = Ask(stack.url, COMPLETIONS, body, f"{name}-{index}")
            streams.append(open_ones.enter_context(closing(RawStream(ask, within_s))))
        yield streams


def read_all(streams: Sequence[RawStream], body_bytes: int, within_s: float) -> None:
    """All share one bound: what arrives while another is read waits in the kernel."""
    deadline_s = time.monotonic() + within_s
    for stream in streams:
        stream.read_to(body_bytes, max(ARRIVED_S, deadline_s - time.monotonic()))
