"""A worker's figures as a Prometheus page, under SGLang's names where SGLang has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stack.engine.knobs import GUARDS
from stack.engine.ledger import Ledger

Sample = tuple[str, str, float, str]  # name, type, value, labels

_GAUGES = {
    "num_running_reqs": "running",
    "num_queue_reqs": "waiting",
    "num_open_reqs": "open",
    "kv_pages": "pages",
    "kv_used_pages": "pages_used",
    "kv_quarantined_pages": "pages_quarantined",
    "kv_cached_pages": "cached_pages",
    "kernel_target_ctas": "kernel_target_ctas",
    "kernel_resident_ctas": "kernel_resident_ctas",
}
_COUNTERS = {
    "computed_prompt_tokens_total": "prompt_tokens_computed",
    "generation_tokens_total": "generated",
    "prefix_hit_tokens_total": "prefix_hit_tokens",
    "kv_pages_received_total": "pages_received",
    "kv_bytes_sent_total": "kv_bytes",
    "engine_turns_total": "turns",
    "kernel_clamped_total": "kernel_clamped",
}
_COUNTED = {
    "num_bootstrap_failed_reqs_total": "bootstrap_failed",
    "num_transfer_failed_reqs_total": "transfer_failed",
    "num_aborted_requests_total": "aborted",
    "num_drain_timeouts_total": "drain_timeouts",
}


def metrics_page(
    role: str,
    page_size: int,
    figures: Mapping[str, Any],
    depths: Mapping[str, int],
    front: Ledger,
) -> str:
    """`figures` is the engine's last word; the front adds its own guards and stages."""
    lines: list[str] = []
    typed: set[str] = set()
    for name, kind, value, labels in _samples(page_size, figures, depths, front):
        if name not in typed:
            typed.add(name)
            lines.append(f"# TYPE sglang:{name} {kind}")
        lines.append(f'sglang:{name}{{engine_type="{role}"{labels}}} {value:g}')
    return "\n".join(lines) + "\n"


def _samples(
    page_size: int, figures: Mapping[str, Any], depths: Mapping[str, int], front: Ledger
) -> Iterator[Sample]:
    for name, depth in depths.items():
        yield f"num_{name}", "gauge", depth, ""
    for name, key in _GAUGES.items():
        yield name, "gauge", figures.get(key, 0), ""
    total = figures.get("pages", 1)
    yield "token_usage", "gauge", figures.get("pages_used", 0) / total, ""
    yield "num_used_tokens", "gauge", figures.get("pages_used", 0) * page_size, ""
    for name, key in _COUNTERS.items():
        yield name, "counter", figures.get(key, 0), ""
    for name, key in _COUNTED.items():
        yield name, "counter", figures.get("counts", {}).get(key, 0), ""
    acts: Mapping[str, int] = figures.get("acts", {})
    for guard in GUARDS:
        count = acts.get(guard, 0) + front.acts[guard]
        yield "guard_acts_total", "counter", count, f',guard="{guard}"'
    ages: dict[str, float] = {**figures.get("oldest_s", {}), **front.oldest_s()}
    for stage, age in sorted(ages.items()):
        yield "oldest_request_age_seconds", "gauge", age, f',stage="{stage}"'
