"""Several workloads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from chaos.contracts import Request, Workload
from chaos.seed import source


@dataclass(frozen=True, slots=True)
class Together:
    """All parts start at the same moment. Request ids must not collide: ValueError."""

    parts: tuple[Workload, ...]

    @property
    def name(self) -> str:
        return " + ".join(part.name for part in self.parts)

    def requests(self, rng: Random) -> Sequence[Request]:
        # Each part draws from its own generator: adding a part does not reshuffle the others.
        seed = rng.getrandbits(64)
        requests = [
            request
            for index, part in enumerate(self.parts)
            for request in part.requests(source(seed, f"part/{index}"))
        ]
        ids = [request.request_id for request in requests]
        if twice := sorted({one for one in ids if ids.count(one) > 1}):
            raise ValueError(f"two parts use the same request ids: {', '.join(twice)}")
        return requests
