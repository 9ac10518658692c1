"""The toxics, under the names by which the API knows them."""

from __future__ import annotations

from collections.abc import Mapping

from stack.toxiproxy.pipe import Toxic
from stack.toxiproxy.toxics.bandwidth import Bandwidth
from stack.toxiproxy.toxics.latency import Latency
from stack.toxiproxy.toxics.limit_data import LimitData
from stack.toxiproxy.toxics.noop import Noop
from stack.toxiproxy.toxics.reset_peer import ResetPeer
from stack.toxiproxy.toxics.slicer import Slicer
from stack.toxiproxy.toxics.slow_close import SlowClose
from stack.toxiproxy.toxics.timeout import Timeout

TOXICS: Mapping[str, type[Toxic]] = {
    "bandwidth": Bandwidth,
    "latency": Latency,
    "limit_data": LimitData,
    "noop": Noop,
    "reset_peer": ResetPeer,
    "slicer": Slicer,
    "slow_close": SlowClose,
    "timeout": Timeout,
}
