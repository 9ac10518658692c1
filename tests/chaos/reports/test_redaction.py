"""What may leave the machine: names on the list, and no secret even there."""

from __future__ import annotations

import pytest

from chaos.reports.redaction import HIDDEN, allowed_environment, redacted_text


def test_only_listed_names_pass() -> None:
    environment = {"HOME": "/x", "AWS_PROFILE": "prod", "SGLANG_SM120_MMA_TARGET_CTAS": "512"}
    assert allowed_environment(environment) == {"SGLANG_SM120_MMA_TARGET_CTAS": "512"}


@pytest.mark.parametrize(
    "name", ["PDCHAOS_ADMIN_TOKEN", "SGLANG_API_KEY", "VLLM_PASSWORD", "NCCL_AUTH"]
)
def test_a_secret_behind_a_listed_prefix_is_hidden(name: str) -> None:
    assert allowed_environment({name: "hunter2"}) == {name: HIDDEN}


def test_a_size_that_counts_tokens_is_no_secret() -> None:
    assert allowed_environment({"PDCHAOS_CHUNK_TOKENS": "64"}) == {"PDCHAOS_CHUNK_TOKENS": "64"}


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer hunter2",
        '{"admin_token": "hunter2", "port": 1}',
        "GET http://user:hunter2@127.0.0.1/metrics",
        "api_key=hunter2 ready",
        "password: hunter2",
    ],
)
def test_a_secret_in_a_log_line_is_hidden_and_the_rest_stays(text: str) -> None:
    shown = redacted_text(text)
    assert "hunter2" not in shown
    assert HIDDEN in shown


def test_a_secret_that_is_known_is_hidden_wherever_it_stands() -> None:
    assert redacted_text("x hunter2 y", ["hunter2", ""]) == f"x {HIDDEN} y"


@pytest.mark.parametrize(
    "text", ["tokens=8 finish_reason=stop", "routing key a moved", "http://127.0.0.1:8000/health"]
)
def test_an_ordinary_line_is_left_alone(text: str) -> None:
    assert redacted_text(text) == text
