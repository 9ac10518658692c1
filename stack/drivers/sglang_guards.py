"""The guards that a real SGLang has: which knob sets each, to what, and how soon it must act.

Set to seconds, where its own defaults are minutes. None can be switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chaos.contracts import Guard
from stack.plan import Plan, RouterTimers

# Its health page takes at least a second; a busy one must not be condemned for two.
TIMERS: Final = RouterTimers(health_interval_s=2, health_timeout_s=3)
SLACK_S: Final = 4.0  # beyond its knob: its loops look once a second, on a machine that it fills
HEARTBEAT_WAIT_S: Final = 3.0  # hard-coded: how long one heartbeat may stay unanswered
INFO_ATTEMPTS: Final = 15  # hard-coded, at least a second apart

KNOBS: Final[Mapping[str, str]] = {
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "8",
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "8",
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "2",  # it takes no less
    "SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE": "2",
    # Pages of an aborted transfer are held until prefill says that it has stopped writing.
    "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT": "4",
    "SGLANG_HEALTH_CHECK_TIMEOUT": "5",
}
ROUTERS_OWN: Final = (
    "sticky_sessions",
    "router_health",
    "router_breaker",
    "router_stream_failure",
    "router_error_reply",
)


def settings(plan: Plan, node: str) -> dict[str, str]:
    """The knobs of one server: ours, then the plan's for its role and for itself."""
    role = node.rpartition("-")[0]
    return {**KNOBS, **plan.environment.get(role, {}), **plan.environment.get(node, {})}


def guards(plan: Plan) -> dict[str, Guard]:
    """Those of the engine, and the router's as the plan sets them."""
    prefix = "SGLANG_DISAGGREGATION_"
    misses = int(KNOBS[f"{prefix}HEARTBEAT_MAX_FAILURE"])
    interval = float(KNOBS[f"{prefix}HEARTBEAT_INTERVAL"])
    ours = (
        _timed("bootstrap_timeout", f"{prefix}BOOTSTRAP_TIMEOUT"),
        _timed("waiting_timeout", f"{prefix}WAITING_TIMEOUT"),
        _fixed("heartbeat_to_prefill", (interval + HEARTBEAT_WAIT_S) * misses),
        _fixed("prefill_info_attempts", float(INFO_ATTEMPTS)),
        _fixed("abort_propagation", 0.0),
    )
    routers = {name: plan.guards[name] for name in ROUTERS_OWN}
    return {**{one.name: one for one in ours}, **routers}


def _timed(name: str, knob: str) -> Guard:
    return Guard(name, True, knob, KNOBS[knob], float(KNOBS[knob]) + SLACK_S)


def _fixed(name: str, acts_after_s: float) -> Guard:
    return Guard(name, True, "", "on", acts_after_s + SLACK_S)
