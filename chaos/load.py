"""Owns what a list of requests amounts to: its chains, its span in time, its concurrency."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from chaos.contracts import Request

SERVICE_S = 1.0  # how long a request is taken to run when nothing is known about it yet


def concurrency(requests: Sequence[Request], service_s: float = SERVICE_S) -> int:
    """How many of these requests may be in flight at the same moment, at least one.

    An agent, a chain of rounds, has one request in flight at a time. Each chain is taken to last
    for its tool pauses and `service_s` per round; the answer is the most chains open at once.
    """
    spans = chain_spans(requests, service_s)
    edges = [(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans]
    # At one moment the chains that end go first: they hand their place to those that begin.
    return max(accumulate(step for _, step in sorted(edges)), default=1)


def span_s(requests: Sequence[Request], service_s: float = SERVICE_S) -> float:
    """How long after its start the load should have sent its last request and served it."""
    return max((end for _, end in chain_spans(requests, service_s)), default=0.0)


def chain_spans(requests: Sequence[Request], service_s: float) -> list[tuple[float, float]]:
    """Each chain's begin and end, in seconds after the start of load."""
    begins: dict[str, float] = {}
    ends: dict[str, float] = {}
    root: dict[str, str] = {}
    for request in requests:
        chain = root.get(request.after, request.after) if request.after else request.request_id
        root[request.request_id] = chain
        begins.setdefault(chain, request.due_s)
        ends[chain] = ends.get(chain, 0.0) + request.due_s + service_s
    return [(begins[chain], ends[chain]) for chain in begins]
