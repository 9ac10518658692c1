"""The guards a stack can have: which knob sets each, to what, and how soon it must act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuardSetting:
    """One guard's knob. `factor` knobs' worth of seconds may pass before it acts.

    A guard without a timer of its own (`factor` 0) must act at once.
    """

    knob: str
    value: str
    factor: float = 0.0
    times_knob: str | None = None  # a second knob that multiplies the first, plus one
    of_router: bool = False
    fixed: bool = False  # part of the program: it cannot be switched off

    def budget_s(self, name: str, settings: Mapping[str, str]) -> float:
        """Seconds until the guard acts, without slack. ValueError when a knob is no number."""
        if not self.factor:
            return 0.0
        seconds = self.factor * _number(name, self.knob, settings)
        if self.times_knob is not None:
            seconds *= _number(name, self.times_knob, settings) + 1
        return seconds


def _number(name: str, knob: str, settings: Mapping[str, str]) -> float:
    try:
        value = float(settings[knob])
    except ValueError:
        raise ValueError(
            f"guard {name}: {knob} must be a number of seconds, not {settings[knob]!r}"
        ) from None
    if not 0 < value < float("inf"):
        raise ValueError(f"guard {name}: {knob} must be positive, not {settings[knob]!r}")
    return value


HEARTBEAT = "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL"
HEARTBEAT_MISSES = "SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE"

# Seconds, where engines' own defaults are minutes. The order matters: the guard that sees
# the cause (an inflight push that stalls) comes before the one that sees only the symptom
# (a decode that waits), so that a verdict names the cause. Two that can act on the same stall
# differ by more than a plan's slack: one that listened to the other's variable would act
# outside its budget. From the cause to the symptom: a peer is dead (1 s), a page does not
# arrive (2.1) or its engine stands still (2.2), pages are not announced (3.3), no KV comes (4.4),
# and whoever is still there then keeps a worker that was told to go (5.5).
GUARDS: Mapping[str, GuardSetting] = {
    "prefill_inflight_watchdog": GuardSetting("PDCHAOS_PREFILL_INFLIGHT_TIMEOUT", "2.1", 1),
    "bootstrap_timeout": GuardSetting("SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT", "3.3", 1),
    "waiting_timeout": GuardSetting("SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "4.4", 1),
    "heartbeat_to_prefill": GuardSetting(HEARTBEAT, "0.25", 1, HEARTBEAT_MISSES),
    "heartbeat_to_decode": GuardSetting(HEARTBEAT, "0.25", 1, HEARTBEAT_MISSES),
    "abort_propagation": GuardSetting("", "on"),
    "skip_to_failed": GuardSetting("", "on"),
    "page_quarantine": GuardSetting("PDCHAOS_ABORT_DRAIN_TIMEOUT", "1.5", 1),
    "step_watchdog": GuardSetting("PDCHAOS_STEP_TIMEOUT", "2.2", 1.5),  # sampled, as in SGLang
    "stream_idle_guard": GuardSetting("PDCHAOS_STREAM_IDLE_TIMEOUT", "2.5", 1),
    "admission_bounds": GuardSetting("PDCHAOS_MAX_QUEUED", "64"),
    "drain": GuardSetting("PDCHAOS_DRAIN_TIMEOUT", "5.5", 1),
    "subprocess_watchdog": GuardSetting("", "on", fixed=True),  # SGLang's name: a dead engine
    "progress_health": GuardSetting("PDCHAOS_STEP_TIMEOUT", "2.2", 1),
    "knob_validation": GuardSetting("", "on"),
    "kv_verification": GuardSetting("", "on"),
    "sticky_sessions": GuardSetting("--sticky-sessions", "on", of_router=True),
    "router_health": GuardSetting("--health-check-interval-secs", "1", of_router=True),
    "router_breaker": GuardSetting("--cb-timeout-duration-secs", "2", of_router=True),
    "router_stream_failure": GuardSetting("", "on", of_router=True, fixed=True),
    "router_error_reply": GuardSetting("", "on", of_router=True, fixed=True),
}

# Settings that belong to no guard, and yet must be the same for every node.
OTHER_KNOBS: Mapping[str, str] = {HEARTBEAT_MISSES: "3"}


def guards_set_by(variable: str) -> tuple[str, ...]:
    """The guards of an engine that this variable sets."""
    return tuple(
        name
        for name, setting in GUARDS.items()
        if variable in (setting.knob, setting.times_knob) and not setting.of_router
    )


def default_knobs() -> dict[str, str]:
    """Environment name to value, for the engine's guards."""
    own = {s.knob: s.value for s in GUARDS.values() if s.knob and not s.of_router}
    return {**own, **OTHER_KNOBS}
