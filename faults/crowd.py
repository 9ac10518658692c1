"""More clients at once than the stack has room for."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Final

from chaos.contracts import Evidence, Proof, Stack
from chaos.event import Json
from chaos.stage import FaultKind, Stage
from faults.client import COMPLETIONS, WITHIN_S, Reachable
from faults.raw_stream import Ask, RawStream, streamed_body

ARRIVED_S: Final = 0.05  # to read an answer that has come while another one was waited for
FIRST_ERROR: Final = HTTPStatus.BAD_REQUEST
FULL: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Crowd:
    """`count` streams at once through the router; those that got in hang up when healed.

    It bites when at least `refused_min` were turned away with an error. The proof counts those
    that were told that there is no room (429 or 503) apart from those that were told anything
    else. Entering ends when every one has had its answer, at the latest after `within_s`: a router
    that waits for the other leg of a refused request takes seconds to pass the refusal on.
    """

    count: int
    refused_min: int = 1
    tokens: int = 100
    within_s: float = WITHIN_S
    stage: Stage = field(default=Stage.INTAKE, init=False)
    kind: FaultKind = field(default=FaultKind.EXHAUSTED, init=False)
    needs: type = field(default=Reachable, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.refused_min <= self.count:
            raise ValueError(
                f"refused_min: expected 1 to count ({self.count}), not {self.refused_min}"
            )

    @property
    def name(self) -> str:
        return f"a crowd of {self.count}"

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        with ExitStack() as opened:
            streams: list[RawStream] = []
            for index in range(self.count):
                body = streamed_body(rng, self.tokens, stack.model)
                ask = Ask(stack.url, COMPLETIONS, body, f"crowd-{index}")
                streams.append(opened.enter_context(closing(RawStream(ask, self.within_s))))
            deadline_s = time.monotonic() + self.within_s
            for stream in streams:
                stream.read_to(0, max(ARRIVED_S, deadline_s - time.monotonic()))
            yield _Refused(streams, self.refused_min)


@dataclass(frozen=True, slots=True)
class _Refused:
    streams: Sequence[RawStream]
    refused_min: int

    def read(self) -> Evidence:
        statuses = [stream.status for stream in self.streams]
        refused = sum(status in FULL for status in statuses)
        turned_away = sum(status is not None and status >= FIRST_ERROR for status in statuses)
        detail: dict[str, Json] = {
            "asked": len(statuses),
            "refused": refused,
            "failed": turned_away - refused,
            "admitted": sum(status == HTTPStatus.OK for status in statuses),
            "unanswered": statuses.count(None),
        }
        return Evidence(turned_away >= self.refused_min, detail)
