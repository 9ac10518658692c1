"""How much work a row may make: all of it, or what fits into a coffee break."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    quick: bool = False
    fault_free: int = 10  # experiments of the row of that name
    stack: str = "embedded"  # the kind that they are played on

    def pick(self, full: int, quick: int) -> int:
        return quick if self.quick else full


class NotMeasured(Exception):
    """A row could not be measured; says why in one line."""
