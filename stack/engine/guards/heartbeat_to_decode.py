"""A prefill notices that a decode died, froze or was replaced, and fails what they shared."""

from __future__ import annotations

from dataclasses import dataclass

from stack.engine.guards.heartbeat import Pulse


@dataclass(frozen=True, slots=True)
class HeartbeatToDecode:
    """After `failures_max` missed beats, or a new instance on the same address.

    Its clock counts beats that the decode's IO thread did not answer; that thread takes part in no
    queue and in no step, so that a busy decode answers in time. A request
    is ended only when a beat was missed that was sent after the two had met.
    """

    on: bool
    interval_s: float
    failures_max: int
    name: str = "heartbeat_to_decode"
    knob: str = "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL"

    def pulse(self) -> Pulse:
        return Pulse(self.failures_max)

    def silence(self, peer: str) -> str:
        return f"{peer} missed {self.failures_max} heartbeats, one every {self.interval_s:g} s"
