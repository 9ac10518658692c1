"""Why a reply ends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    reason: str  # "stop" | "length"
    hidden: int  # that many last tokens are not part of the reply
