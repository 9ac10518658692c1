"""Goal: queues and pages are read from /v1/loads, and the health page is asked sparingly."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest

from chaos.contracts import Unreadable
from stack.drivers import sglang_probes
from stack.drivers.sglang_probes import HealthPage, LoadsProbe, transfers
from tests.stack.page_server import Page, serving

QUEUES = {
    "prefill_bootstrap_queue_reqs": 2,
    "prefill_inflight_queue_reqs": 1,
    "decode_prealloc_queue_reqs": 4,
    "decode_transfer_queue_reqs": 3,
    "decode_retracted_queue_reqs": 0,
}
LOAD = {
    "num_running_reqs": 5,
    "num_waiting_reqs": 6,
    "num_used_tokens": 700,
    "disaggregation": QUEUES,
}


def always(body: str, status: int = 200) -> Page:
    return lambda _: (status, body.encode())


def test_a_prefill_tells_its_own_queues_under_the_names_of_its_metrics() -> None:
    with serving(always(json.dumps({"loads": [LOAD]}))) as url:
        read = {one.name: one.value for one in LoadsProbe("prefill-0", url).read()}
    assert read == {
        "prefill-0/sglang:num_running_reqs": 5.0,
        "prefill-0/sglang:num_queue_reqs": 6.0,
        "prefill-0/sglang:kv_used_tokens": 700.0,
        "prefill-0/sglang:num_prefill_bootstrap_queue_reqs": 2.0,
        "prefill-0/sglang:num_prefill_inflight_queue_reqs": 1.0,
    }


def test_a_decode_tells_its_own_queues() -> None:
    with serving(always(json.dumps({"loads": [LOAD]}))) as url:
        read = {one.name: one.value for one in LoadsProbe("decode-0", url).read()}
    assert read["decode-0/sglang:num_decode_transfer_queue_reqs"] == 3.0
    assert "decode-0/sglang:num_prefill_inflight_queue_reqs" not in read


@pytest.mark.parametrize(
    "body", ["", "{}", '{"loads": []}', '{"loads": [{"num_running_reqs": 1}]}']
)
def test_a_page_that_says_something_else_is_unreadable(body: str) -> None:
    with serving(always(body)) as url, pytest.raises(Unreadable, match="decode-0/loads"):
        LoadsProbe("decode-0", url).read()


def test_an_error_status_is_unreadable() -> None:
    with serving(always("", 500)) as url, pytest.raises(Unreadable, match="status 500"):
        LoadsProbe("decode-0", url).read()


def test_the_health_page_is_asked_no_sooner_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sglang_probes, "_HEALTH_EVERY_S", 0.2)
    asked_s: list[float] = []

    def page(_: str) -> tuple[int, bytes]:
        asked_s.append(time.monotonic())
        return 503, b""

    with serving(page) as url:
        probe = HealthPage("decode-0", url)
        values = [one.value for _ in range(3) for one in probe.read()]
    assert values == [503.0] * 3
    assert all(after_s - before_s > 0.15 for before_s, after_s in pairwise(asked_s))


def test_every_reading_of_the_health_page_is_a_look_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sglang_probes, "_HEALTH_EVERY_S", 0.01)
    statuses = iter((503, 200))
    with serving(lambda _: (next(statuses), b"")) as url:
        probe = HealthPage("decode-0", url)
        assert [probe.read()[0].value for _ in range(2)] == [503.0, 200.0]


def test_a_health_page_that_does_not_answer_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        HealthPage("decode-0", "http://127.0.0.1:1").read()


def test_transfers_are_added_up_over_all_series() -> None:
    lines = [
        'sglang:kv_transfer_latency_ms_count{rank="0"} 3.0',
        'sglang:kv_transfer_latency_ms_count{rank="1"} 4.0',
        "sglang:kv_transfer_latency_ms_sum 900.0",
    ]
    with serving(always("\n".join(lines))) as url:
        assert transfers(url) == 7.0
