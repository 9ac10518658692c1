"""Owns what each kind of guard is there for, by its name: what its word says of a request.

A guard that is in none of these acts on what it sees: it ends what it found to be wrong.
"""

from __future__ import annotations

# They clean up after something else has ended a request, its client's going away included.
OF_CLEANUP = frozenset({"abort_propagation", "page_quarantine", "skip_to_failed"})
# They end what has been still for as long as their knob says.
OF_SILENCE = frozenset(
    {"bootstrap_timeout", "step_watchdog", "stream_idle_guard", "progress_health"}
)
# They end what has not come to its end for as long as their knob says. While tokens reach the
# client, nothing that they wait for is missing.
OF_WAITING = frozenset({"prefill_inflight_watchdog", "waiting_timeout"})
# Of those of silence, the ones that end a whole node, and with it who has only just come.
OF_A_NODE = frozenset({"step_watchdog"})
# They refuse at the door what would hang later, and condemn no progress.
AT_THE_DOOR = frozenset({"admission_bounds", "knob_validation"})
# They only report: the router's own log of what a worker or a link did.
REPORTERS = frozenset({"router_stream_failure", "router_error_reply"})
