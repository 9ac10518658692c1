"""More clients at once than the stack has room for."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Final

from chaos.contracts import Evidence, Proof, Stack
from chaos.event import Json
from chaos.stage import FaultKind, Stage
from faults.client import WITHIN_S, Reachable
from faults.raw_stream import RawStream
from faults.streams import opened, read_all

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
        with opened(stack, rng, "crowd", self.count, self.tokens, self.within_s) as streams:
            read_all(streams, 0, self.within_s)
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
