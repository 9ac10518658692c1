"""Goal: a stack whose KV does not move is not ready, and says so; one that does not answer, too."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stack.drivers import sglang_first_light
from stack.drivers.sglang_first_light import FirstLight
from stack.node_process import NodeFailed
from tests.stack.page_server import serving


@contextmanager
def router(status: int, asked: threading.Event) -> Generator[str]:
    """Answers every completion with this status."""

    class Pages(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.set()
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"no")

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - silence
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sglang_first_light, "_EVERY_S", 0.02)


def light(url: str, prefill: str) -> FirstLight:
    return FirstLight(url, "tiny", [prefill])


def test_it_is_ready_when_a_completion_came_back_and_the_count_of_transfers_rose() -> None:
    asked = threading.Event()

    def metrics(_: str) -> tuple[int, bytes]:
        return 200, f"sglang:kv_transfer_latency_ms_count {int(asked.is_set())}".encode()

    with router(200, asked) as url, serving(metrics) as prefill:
        light(url, prefill).wait(10.0)
    assert asked.is_set()


def test_a_completion_without_a_transfer_is_not_enough() -> None:
    def metrics(_: str) -> tuple[int, bytes]:
        return 200, b"sglang:kv_transfer_latency_ms_count 5"

    with (
        router(200, threading.Event()) as url,
        serving(metrics) as prefill,
        pytest.raises(NodeFailed, match="KV does not move"),
    ):
        light(url, prefill).wait(0.3)


def test_our_own_time_out_does_not_unsay_what_the_router_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([(503, "503 no")])

    def ask(*_: object) -> tuple[int, str]:
        answer = next(answers, None)
        if answer is None:
            raise TimeoutError("timed out")
        return answer

    monkeypatch.setattr(FirstLight, "_ask", ask)
    with pytest.raises(NodeFailed, match="it said last: 503 no"):
        FirstLight("http://127.0.0.1:9", "tiny", []).wait(0.2)
    with pytest.raises(NodeFailed, match="it said last: TimeoutError"):  # where it never answered
        FirstLight("http://127.0.0.1:9", "tiny", []).wait(0.2)


def test_a_router_that_refuses_is_quoted() -> None:
    with (
        router(503, threading.Event()) as url,
        serving(lambda _: (200, b"")) as prefill,
        pytest.raises(NodeFailed, match="it said last: 503 no"),
    ):
        light(url, prefill).wait(1.5)
