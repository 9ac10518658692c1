"""The part of the command line that both routers share: they grew from one code."""

from __future__ import annotations

from stack.plan import Plan
from stack.routers.backends import Backends

SHUTDOWN_GRACE_S = 1  # of a router that is stopped with streams open


def shared(plan: Plan, backends: Backends) -> list[str]:
    """Addresses, workers, timers and retries."""
    return [
        "--pd-disaggregation",
        *("--host", "127.0.0.1", "--port", str(backends.port)),
        *("--prometheus-host", "127.0.0.1", "--prometheus-port", str(backends.metrics_port)),
        *("--log-level", "info"),  # below that, no line carries the request's id
        *("--worker-startup-check-interval", "1"),
        *("--shutdown-grace-period-secs", str(SHUTDOWN_GRACE_S)),
        *_workers(backends),
        *_health(plan),
        *_tries(plan),
    ]


def _workers(backends: Backends) -> list[str]:
    words: list[str] = []
    for url, bootstrap_port in backends.prefills.values():
        words += ["--prefill", url, str(bootstrap_port)]
    for url in backends.decodes.values():
        words += ["--decode", url]
    return words


def _health(plan: Plan) -> list[str]:
    if not plan.guards["router_health"].on:
        return ["--disable-health-check"]
    timers = plan.timers
    return [
        *("--health-check-interval-secs", str(timers.health_interval_s)),
        *("--health-check-timeout-secs", str(timers.health_timeout_s)),
        *("--health-failure-threshold", str(timers.failure_threshold)),
        *("--health-success-threshold", str(timers.success_threshold)),
    ]


def _tries(plan: Plan) -> list[str]:
    # Both routers count attempts, not repetitions, in this flag.
    retries = ["--retry-max-retries", str(plan.attempts)]
    return [*(retries if plan.attempts > 1 else ["--disable-retries"]), *_breaker(plan)]


def _breaker(plan: Plan) -> list[str]:
    if not plan.guards["router_breaker"].on:
        return ["--disable-circuit-breaker"]
    return [
        *("--cb-failure-threshold", str(plan.timers.breaker_failures)),
        *("--cb-timeout-duration-secs", str(plan.timers.breaker_s)),
    ]
