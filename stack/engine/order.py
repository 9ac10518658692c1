"""One reply asked of the engine: a prompt, a room, and how to sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Order:
    """`room` is unique among everything a worker has open: the router draws it at random."""

    room: int
    request_id: str
    tokens: tuple[int, ...]
    tokens_max: int
    host: str = "127.0.0.1"  # where the prefill of this pair listens for decodes
    port: int = 0
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    ignore_end: bool = False
    routing_key: str | None = None

    @property
    def positions_max(self) -> int:
        """How many KV slots it may need: the last token's own KV is never written."""
        return len(self.tokens) + self.tokens_max

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Order:
        fields = dict(raw)
        return Order(tokens=tuple(fields.pop("tokens")), stop=tuple(fields.pop("stop")), **fields)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request ended badly. `code` is the guard's name where a guard ended it."""

    code: str
    message: str
    status: int = 500

    def body(self) -> dict[str, dict[str, str | int]]:
        """OpenAI's error shape."""
        kind = "invalid_request_error" if self.status == BAD_REQUEST else "server_error"
        return {"error": {"message": self.message, "type": kind, "code": self.code}}


BAD_REQUEST = 400
UNAVAILABLE = 503
