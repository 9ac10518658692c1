"""Where in a request's life something happens, and in which way it can go wrong."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    """The stage lattice of a prefill/decode request. The order is the order of life."""

    CLIENT = "client"  # connect, send, read
    DISPATCH = "dispatch"  # the router picks workers and sends both legs
    INTAKE = "intake"  # engine queue, admission
    BOOTSTRAP = "bootstrap"  # handshake, room, metadata
    PREFILL = "prefill"  # prompt compute
    TRANSFER = "transfer"  # KV bytes
    HANDOVER = "handover"  # done signal, page ownership
    ADMIT = "admit"  # decode pre-allocation, waiting for KV
    DECODE = "decode"  # token compute
    STREAM = "stream"  # tokens to the client
    ENDING = "ending"  # finish reason, [DONE]
    CLEANUP = "cleanup"  # abort, time-out, free
    LIFECYCLE = "lifecycle"  # start, restart, drain, scale
    OBSERVERS = "observers"  # health, metrics, watchdog, breaker, sticky table


# Stages that only an engine which computes or moves bytes can enter.
WORK = frozenset({Stage.PREFILL, Stage.TRANSFER, Stage.HANDOVER, Stage.DECODE, Stage.STREAM})


class FaultKind(Enum):
    """The columns of the coverage map."""

    LOST = "event lost"
    LATE = "late past a deadline"
    KILLED = "killed or replaced"
    FROZEN = "frozen but alive"
    DISAGREE = "legs disagree"
    SWALLOWED = "error swallowed"
    EXHAUSTED = "exhausted or leaked"
    CANCELLED = "cancelled in the window"
    BAD_KNOB = "bad knob or mismatch"
