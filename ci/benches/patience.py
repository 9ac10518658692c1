"""Guards for rows that need none of them: on a machine that others use, too, a guard in a hurry
would end requests that only wait for their turn."""

from __future__ import annotations

from typing import Final

from stack.guard_settings import GUARDS
from stack.plan import RouterTimers

# Not page_quarantine, which ends no request: it only says when its pages are given back.
KNOBS: Final = {
    one.knob: "20" for name, one in GUARDS.items() if one.factor and name != "page_quarantine"
}
TIMERS: Final = RouterTimers(health_timeout_s=5, failure_threshold=20)
