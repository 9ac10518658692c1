"""A stranger's client against `python -m chaos up`: the stock `openai` package, and the metrics."""

from __future__ import annotations

import re
import socket
from collections.abc import Generator

import httpx
import pytest
from openai import OpenAI

from stack.process_table import tree
from tests.stack.until import until
from tests.suites.stack_up import StackUp, stack_up

ANSWER_S = 30.0
DOWN_S = 20.0
PROMPT = "Why do prefill and decode run on different machines?"
TOKENS = 12


@pytest.fixture(scope="module")
def up() -> Generator[StackUp]:
    with stack_up() as running:
        yield running


@pytest.fixture
def client(up: StackUp) -> Generator[OpenAI]:
    with client_of(up) as client:
        yield client


def client_of(up: StackUp) -> OpenAI:
    url = f"{up.address('clients')}/v1"
    return OpenAI(base_url=url, api_key="none", timeout=ANSWER_S, max_retries=0)


def streamed(client: OpenAI, prompt: str) -> tuple[str, list[str]]:
    """The text of a streamed chat, and every finish_reason that came with it."""
    text, reasons = "", list[str]()
    with client.chat.completions.create(
        model=client.models.list().data[0].id,
        messages=[{"role": "user", "content": prompt}],
        max_tokens=TOKENS,
        temperature=0,
        stream=True,
    ) as chunks:
        for chunk in chunks:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                reasons += [choice.finish_reason] if choice.finish_reason else []
    return text, reasons


def test_a_streamed_chat_has_a_text_and_one_reason_why_it_ended(client: OpenAI) -> None:
    text, reasons = streamed(client, PROMPT)
    assert len(text) == TOKENS
    assert reasons == ["length"]


def test_the_same_prompt_gets_the_same_text_and_another_prompt_another(client: OpenAI) -> None:
    first, _ = streamed(client, PROMPT)
    again, _ = streamed(client, PROMPT)
    other, _ = streamed(client, PROMPT + "?")
    assert first == again
    assert first != other


def test_a_chat_that_is_not_streamed_has_the_same_text(client: OpenAI) -> None:
    whole = client.chat.completions.create(
        model=client.models.list().data[0].id,
        messages=[{"role": "user", "content": PROMPT}],
        max_tokens=TOKENS,
        temperature=0,
    )
    assert whole.choices[0].finish_reason == "length"
    assert whole.choices[0].message.content == streamed(client, PROMPT)[0]
    assert whole.usage is not None
    assert whole.usage.completion_tokens == TOKENS


def test_a_completion_that_is_not_streamed_is_whole(client: OpenAI) -> None:
    whole = client.completions.create(
        model=client.models.list().data[0].id, prompt=PROMPT, max_tokens=TOKENS, temperature=0
    )
    assert len(whole.choices[0].text) == TOKENS
    assert whole.choices[0].finish_reason == "length"


def test_the_metrics_that_it_tells_of_are_sglangs_and_count_the_request(
    up: StackUp, client: OpenAI
) -> None:
    page = up.address("metrics")
    before = generated(up)
    streamed(client, PROMPT)
    assert generated(up) >= before + TOKENS - 1  # the first token is prefill's
    told = httpx.get(page, timeout=ANSWER_S)
    assert told.headers["content-type"].startswith("text/plain")
    assert "\nsglang:num_prefill_inflight_queue_reqs{" in told.text


def generated(up: StackUp) -> float:
    """How many tokens the decode worker's metrics page has counted."""
    page = httpx.get(f"{up.address('decode')}/metrics", timeout=ANSWER_S)
    found = re.search(r"(?m)^sglang:generation_tokens_total\{.*\} (\S+)$", page.text)
    assert found, page.text
    return float(found[1])


def test_ctrl_c_ends_it_in_the_middle_of_a_stream_and_leaves_nothing() -> None:
    with stack_up() as up, client_of(up) as client:
        model = client.models.list().data[0].id
        stream = client.completions.create(
            model=model, prompt=PROMPT, max_tokens=400, temperature=0, stream=True
        )
        next(iter(stream))
        started = tree(up.process.pid)
        assert len(started) > 4, "a router, two workers and their engines"
        assert up.end(DOWN_S) == 0
        stream.close()
        until("all that it started is gone", lambda: not any(one.alive for one in started))
        until("its ports are free", lambda: all(is_free(port) for port in up.ports))


def is_free(port: int) -> bool:
    """Nobody listens there. What is left of closed connections does not count."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
