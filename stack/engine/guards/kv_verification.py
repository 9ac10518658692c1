"""KV that arrived damaged or with a page missing is never decoded from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KvVerification:
    """Decode only, before the handover is acknowledged. Off, whatever came is taken.

    It has no clock.
    """

    on: bool
    name: str = "kv_verification"
    knob: str = "PDCHAOS_GUARDS_OFF"

    def complaint(self, expected: int, arrived: int, damaged: int) -> str | None:
        """Why these pages cannot be decoded from; None when they can."""
        if not self.on or (arrived == expected and not damaged):
            return None
        return f"{arrived} of {expected} KV pages arrived, {damaged} of them damaged"
