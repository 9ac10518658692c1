"""What a child inherits and what a report may show: by allow-list, both of them."""

from __future__ import annotations

import pytest

from stack.child_environment import REDACTED, child_environment, shown


def test_a_child_gets_no_secret_and_no_proxy_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "HTTP_PROXY", "https_proxy", "RANDOM"):
        monkeypatch.setenv(name, "x")
    child = child_environment({"PDCHAOS_SEED": "1"})
    assert not {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "HTTP_PROXY", "https_proxy", "RANDOM"} & {
        *child
    }
    assert child["PDCHAOS_SEED"] == "1"
    assert "PATH" in child


def test_one_thread_for_each_worker_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert child_environment({})["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert child_environment({})["OMP_NUM_THREADS"] == "4"


def test_a_report_shows_knobs_and_hides_what_looks_like_a_secret() -> None:
    seen = shown(
        {
            "PDCHAOS_CHUNK_TOKENS": "128",
            "PDCHAOS_ADMIN_TOKEN": "s3cret",
            "SGLANG_API_KEY": "s3cret",
            "HF_TOKEN": "s3cret",
        }
    )
    assert seen["PDCHAOS_CHUNK_TOKENS"] == "128"
    assert seen["PDCHAOS_ADMIN_TOKEN"] == REDACTED
    assert "HF_TOKEN" not in seen
    assert "s3cret" not in str(seen)
