"""Requests at even intervals, whether or not the ones before have ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from chaos.contracts import Request
from chaos.workloads.prompt import NONCE_BYTES, at_least, not_negative, positive, prompt


@dataclass(frozen=True, slots=True, init=False)
class Steady:
    """`requests` of them, called "r0", "r1", ..., one every `every_s` seconds.

    Every prompt has `prompt_bytes` bytes, every reply at most `tokens` tokens.
    """

    count: int
    every_s: float
    prompt_bytes: int
    tokens: int

    # Written out because a specification reads `requests=4`, and `requests` is the method.
    def __init__(
        self, requests: int, every_s: float = 0.1, prompt_bytes: int = 160, tokens: int = 16
    ) -> None:
        positive(requests=requests, tokens=tokens)
        at_least(NONCE_BYTES, prompt_bytes=prompt_bytes)
        not_negative(every_s=every_s)
        object.__setattr__(self, "count", requests)
        object.__setattr__(self, "every_s", every_s)
        object.__setattr__(self, "prompt_bytes", prompt_bytes)
        object.__setattr__(self, "tokens", tokens)

    @property
    def name(self) -> str:
        return f"{self.count} requests, one every {self.every_s:g} s, {self.tokens} tokens each"

    def requests(self, rng: Random) -> Sequence[Request]:
        return [
            Request(f"r{index}", index * self.every_s, prompt(rng, self.prompt_bytes), self.tokens)
            for index in range(self.count)
        ]
