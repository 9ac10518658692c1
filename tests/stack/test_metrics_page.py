"""Prometheus text: labels with anything in them, numbers of any form, and lines that are none."""

from __future__ import annotations

import math

import pytest

from stack.metrics_page import samples

PAGE = r"""
# HELP smg_worker_health Worker health
# TYPE smg_worker_health gauge
smg_worker_health{worker="http://127.0.0.1:20801"} 1
smg_http_responses_total{status_code="502",error_code="a \"b\", c=d}"} 3e0
sglang:num_running_reqs 2.0 1700000000000
plain +Inf
half a line
bad{x="y"} word
"""


def test_every_sample_is_read_and_nothing_else() -> None:
    found = list(samples(PAGE))
    assert [one.name for one in found] == [
        "smg_worker_health",
        "smg_http_responses_total",
        "sglang:num_running_reqs",
        "plain",
    ]
    assert found[0].labels == {"worker": "http://127.0.0.1:20801"}
    assert found[1].labels == {"status_code": "502", "error_code": 'a "b", c=d}'}
    assert [one.value for one in found] == [1.0, 3.0, 2.0, math.inf]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["smg_*_health", "plain"], ["smg_worker_health", "plain"]),
        (["sglang:num_*_reqs"], ["sglang:num_running_reqs"]),
        (["smg_worker"], []),  # a name and not its beginning
        (["smg_http.responses_total"], []),  # a dot is a dot
        ([], []),
    ],
)
def test_only_what_is_wanted_is_read(wanted: list[str], names: list[str]) -> None:
    assert [one.name for one in samples(PAGE, wanted)] == names


def test_an_empty_page_has_no_samples() -> None:
    assert list(samples("")) == []
