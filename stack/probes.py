"""Numbers read from a running stack without disturbing it. Each probe: one node, one bound."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from chaos.contracts import Reading, Unreadable
from stack import process_table
from stack.metrics_page import Sample, samples
from stack.page import fetch
from stack.process_table import ProcessId

# Names are patterns: an engine may export thousands of series, an operator looks at a few.
ROUTER_SIGNALS = (
    "smg_worker_health",
    "smg_worker_requests_active",
    "smg_worker_cb_state",
    "smg_worker_pool_size",
    "smg_worker_retries_total",
    "smg_worker_retries_exhausted_total",
    "smg_http_connections_active",
    "smg_http_inflight_request_age_count",
    "smg_http_responses_total",
    "smg_router_request_errors_total",
    "smg_admission_inflight",
)
ROUTER_RESOURCES = ("smg_worker_requests_active", "smg_http_connections_active")
WORKER_SIGNALS = (
    "sglang:num_*_reqs",
    "sglang:num_*_total",
    "sglang:token_usage",
    "sglang:kv_*_pages",
    "sglang:engine_turns_total",
    "sglang:kernel_clamped_total",
    "sglang:guard_acts_total",
    "sglang:oldest_request_age_seconds",
)
WORKER_LABELS = ("guard", "stage")
WORKER_RESOURCES = (
    "sglang:num_*_reqs",
    "sglang:kv_used_pages",
    "sglang:kv_quarantined_pages",
)
# What runs, waits, or is on its way: none of it is there when nothing was asked.
WORKER_IDLE = ("sglang:num_*_reqs", "sglang:kv_quarantined_pages")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class MetricsProbe:
    """A Prometheus page, reduced to the wanted metrics.

    A label `worker` (a URL) becomes the node's name: "router/smg_worker_health{decode-0}".
    Series that differ only in labels that are not kept are added up.
    """

    node: str
    url: str
    wanted: Sequence[str]
    kept_labels: Sequence[str] = ()
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])  # url -> node
    idle: Sequence[str] = ()  # those that are zero when nothing runs

    @property
    def name(self) -> str:
        return f"{self.node}/metrics"

    def read(self) -> Sequence[Reading]:
        answer = fetch(self.url, "/metrics")
        if answer.status != HTTPStatus.OK:
            raise Unreadable(f"{self.name}: status {answer.status}")
        sums: dict[str, float] = {}
        zero: set[str] = set()
        for sample in samples(answer.text, self.wanted):
            name = f"{self.node}/{sample.name}{self._suffix(sample)}"
            sums[name] = sums.get(name, 0.0) + sample.value
            zero |= {name} if _matches(sample.name, self.idle) else set()
        return [Reading(name, value, name in zero) for name, value in sums.items()]

    def _suffix(self, sample: Sample) -> str:
        values = [sample.labels[label] for label in self.kept_labels if label in sample.labels]
        named = [self.nodes.get(value, value) for value in values]
        return "{" + ",".join(named) + "}" if named else ""


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, one) for one in patterns)


@dataclass(frozen=True, slots=True)
class HealthProbe:
    """A node's health page: the reading is its HTTP status."""

    node: str
    url: str
    path: str = "/health"

    @property
    def name(self) -> str:
        return f"{self.node}{self.path}"

    def read(self) -> Sequence[Reading]:
        return [Reading(self.name, float(fetch(self.url, self.path).status))]


@dataclass(frozen=True, slots=True)
class ProcessProbe:
    """Descriptors, threads, connections and memory of a node's processes, from /proc.

    A descriptor of an established connection counts as a connection only: a router's idle
    pool may grow by one at any time. Connections to this very process are left out altogether:
    other probes, which read the same node at the same time, must not look like a leak of its.
    """

    node: str
    tree: Callable[[], Sequence[ProcessId]]

    @property
    def name(self) -> str:
        return f"{self.node}/process"

    def read(self) -> Sequence[Reading]:
        processes = self.tree()
        if not processes:
            raise Unreadable(f"{self.node} is down")
        try:
            return self._readings(processes)
        except (FileNotFoundError, ProcessLookupError) as error:
            raise Unreadable(f"{self.node} ended while it was read: {error}") from error

    def _readings(self, processes: Sequence[ProcessId]) -> list[Reading]:
        rows = process_table.established()
        own = process_table.socket_inodes(os.getpid())
        our_ports = {row.local_port for row in rows if row.inode in own}
        held = set[str]().union(*(process_table.socket_inodes(one.pid) for one in processes))
        theirs = [row for row in rows if row.inode in held]
        probes = {row.inode for row in theirs if row.remote_port in our_ports}
        descriptors = sum(process_table.descriptor_count(one.pid) for one in processes)
        threads = sum(process_table.thread_count(one.pid) for one in processes)
        pages = sum(process_table.resident_pages(one.pid) for one in processes)
        return [
            Reading(f"{self.node}/fds", float(descriptors - len(theirs))),
            Reading(f"{self.node}/threads", float(threads)),
            Reading(f"{self.node}/established", float(len(theirs) - len(probes))),
            Reading(f"{self.node}/resident_bytes", float(pages * PAGE_BYTES)),
        ]


@dataclass(frozen=True, slots=True)
class SharedMemoryProbe:
    """What lies in /dev/shm under our names."""

    prefix: str
    name: str = "machine/shm"

    def read(self) -> Sequence[Reading]:
        found = list(Path("/dev/shm").glob(self.prefix + "*"))  # noqa: S108 - counted, not used
        return [Reading(self.name, float(len(found)))]
