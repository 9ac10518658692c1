"""One request with a name of its own, beside whatever else runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from chaos.contracts import Request


@dataclass(frozen=True, slots=True)
class Lone:
    """One request, `request_id`, sent `due_s` after the load began: a victim, or a probe."""

    request_id: str = "victim"
    due_s: float = 0.3
    prompt_bytes: int = 96
    tokens: int = 24
    routing_key: str | None = None

    def __post_init__(self) -> None:
        if self.prompt_bytes <= 0 or self.tokens <= 0 or self.due_s < 0:
            raise ValueError(
                f"a request has a prompt, tokens and a due time that is not negative: {self}"
            )

    @property
    def name(self) -> str:
        return f"{self.request_id}, {self.tokens} tokens"

    def requests(self, rng: Random) -> Sequence[Request]:
        nonce = f"[{rng.getrandbits(40):010x}]"
        filler = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=self.prompt_bytes))
        prompt = (nonce + filler)[: max(self.prompt_bytes, len(nonce))]
        return [
            Request(self.request_id, self.due_s, prompt, self.tokens, routing_key=self.routing_key)
        ]
