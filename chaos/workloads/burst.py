"""Many requests in the same moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from chaos.contracts import Request
from chaos.workloads.prompt import NONCE_BYTES, at_least, not_negative, positive, prompt


@dataclass(frozen=True, slots=True, init=False)
class Burst:
    """`requests` of them, called "b0", "b1", ..., all due `due_s` after the load began."""

    count: int
    tokens: int
    prompt_bytes: int
    due_s: float

    # Written out because a specification reads `requests=64`, and `requests` is the method.
    def __init__(
        self, requests: int, tokens: int = 16, prompt_bytes: int = 160, due_s: float = 0.0
    ) -> None:
        positive(requests=requests, tokens=tokens)
        at_least(NONCE_BYTES, prompt_bytes=prompt_bytes)
        not_negative(due_s=due_s)
        object.__setattr__(self, "count", requests)
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "prompt_bytes", prompt_bytes)
        object.__setattr__(self, "due_s", due_s)

    @property
    def name(self) -> str:
        return f"{self.count} requests at once, {self.tokens} tokens each"

    def requests(self, rng: Random) -> Sequence[Request]:
        return [
            Request(f"b{index}", self.due_s, prompt(rng, self.prompt_bytes), self.tokens)
            for index in range(self.count)
        ]
