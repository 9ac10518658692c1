"""One request with a name of its own, beside whatever else runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from chaos.contracts import Request
from chaos.workloads.prompt import NONCE_BYTES, at_least, not_negative, positive, prompt


@dataclass(frozen=True, slots=True)
class Lone:
    """One request, `request_id`, sent `due_s` after the load began: a victim, or a probe."""

    request_id: str = "victim"
    due_s: float = 0.3
    prompt_bytes: int = 96
    tokens: int = 24
    routing_key: str | None = None

    def __post_init__(self) -> None:
        positive(tokens=self.tokens)
        at_least(NONCE_BYTES, prompt_bytes=self.prompt_bytes)
        not_negative(due_s=self.due_s)

    @property
    def name(self) -> str:
        return f"{self.request_id}, {self.tokens} tokens"

    def requests(self, rng: Random) -> Sequence[Request]:
        text = prompt(rng, self.prompt_bytes)
        key = self.routing_key
        return [Request(self.request_id, self.due_s, text, self.tokens, routing_key=key)]
