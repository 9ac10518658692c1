"""Which environment variables a worker reads, and the answer to one that nobody reads."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from stack.engine.knobs import GUARDS_OFF, TABLE

PREFIXES = ("SGLANG_DISAGGREGATION_", "PDCHAOS_")
READ = frozenset({GUARDS_OFF, *(knob.env for knob in TABLE.values())})
# SGLang's own, for which this small engine has no use: a launch script may set them all the same.
IGNORED = frozenset(
    f"SGLANG_DISAGGREGATION_{name}"
    for name in (
        "ALL_CP_RANKS_TRANSFER",
        "BOOTSTRAP_ENTRY_CLEANUP_INTERVAL",
        "DEFERRED_DECODE_KV_RELEASE",
        "DEFERRED_DECODE_KV_RELEASE_TIMEOUT",
        "ENGINE_INIT_TIMEOUT",
        "FORCE_QUERY_PREFILL_DP_RANK",
        "NIXL_BACKEND",
        "NIXL_BACKEND_PARAMS",
        "NUM_PRE_ALLOCATE_REQS",
        "QUEUE_SIZE",
        "SAMPLING_MASK_MAX_TOKENS",
        "THREAD_POOL_SIZE",
        "ZMQ_MAX_SOCKETS",
        "ZMQ_SEND_TIMEOUT",
    )
)
# Ours, read by the run, its drivers and its scripts; a worker started by hand inherits them.
ELSEWHERE = frozenset(
    f"PDCHAOS_{name}"
    for name in (
        "ENGINES",
        "KERNELS_DEBUG",
        "MACHINE",
        "PORTS",
        "REQUIRE",
        "SEMAPHORES",
        "SETUP_LIMIT_S",
        "SGLANG_LIMIT_S",
        "SUITES_LIMIT_S",
        "TESTS_LIMIT_S",
        "WITH_SGLANG",
    )
)


def unread(names: Iterable[str], near_to: Iterable[str] = READ) -> str | None:
    """One line about the first variable with a prefix of ours that nobody reads, with the nearest
    of those that are read there; None when each is known. A misspelt knob would do nothing, in
    silence.
    """
    known = READ | IGNORED | ELSEWHERE
    unknown = sorted(name for name in names if name.startswith(PREFIXES) and name not in known)
    if not unknown:
        return None
    near = get_close_matches(unknown[0], sorted(near_to), n=1)
    hint = f"the nearest name is {near[0]}" if near else "no name that is read is near it"
    return f"{unknown[0]}: nobody reads this variable; {hint} (environment variable)"


def unpassed(names: Iterable[str], passed: Iterable[str]) -> str | None:
    """One line about the first knob of a worker that stands in the environment of the run, which
    hands none but `passed` on: a knob that was set there would do nothing, in silence."""
    vain = sorted((READ & frozenset(names)) - frozenset(passed))
    if not vain:
        return None
    instead = "--guards-off" if vain[0] == GUARDS_OFF else "@pytest.mark.stack(knobs={...})"
    return f"{vain[0]} (environment variable) reaches no worker from here; set it by {instead}"
