"""Probes read what is there, name it as alerts expect, and end in their bound."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chaos.contracts import Unreadable
from stack.page import fetch
from stack.probes import (
    WORKER_IDLE,
    WORKER_RESOURCES,
    HealthProbe,
    MetricsProbe,
    ProcessProbe,
    SharedMemoryProbe,
)
from stack.process_table import ProcessId, identify
from tests.stack.page_server import serving

METRICS = b"""
smg_worker_health{worker="http://127.0.0.1:1"} 1
smg_worker_health{worker="http://127.0.0.1:2"} 0
smg_http_responses_total{status_code="502",error_code="x",path="/a"} 2
smg_http_responses_total{status_code="502",error_code="x",path="/b"} 3
smg_tokio_alive_tasks 7
"""


def test_a_worker_s_url_is_read_as_its_node_and_unwanted_series_are_left_out() -> None:
    with serving(lambda _: (200, METRICS)) as url:
        probe = MetricsProbe(
            "router",
            url,
            ("smg_worker_health", "smg_http_*"),
            ("worker", "status_code", "error_code"),
            {"http://127.0.0.1:1": "prefill-0", "http://127.0.0.1:2": "decode-0"},
        )
        values = {one.name: one.value for one in probe.read()}
    assert values == {
        "router/smg_worker_health{prefill-0}": 1.0,
        "router/smg_worker_health{decode-0}": 0.0,
        "router/smg_http_responses_total{502,x}": 5.0,
    }


def test_gauges_of_what_runs_are_told_to_be_zero_when_nothing_does() -> None:
    page = b"sglang:num_running_reqs 1\nsglang:num_queue_reqs 0\nsglang:kv_used_pages 3\n"
    with serving(lambda _: (200, page)) as url:
        read = MetricsProbe("decode-0", url, WORKER_RESOURCES, idle=WORKER_IDLE).read()
    assert {one.name: one.idle for one in read} == {
        "decode-0/sglang:num_running_reqs": True,
        "decode-0/sglang:num_queue_reqs": True,
        "decode-0/sglang:kv_used_pages": False,  # a prefix cache keeps some
    }


def test_a_health_page_is_its_status_whatever_it_is() -> None:
    with serving(lambda path: (503 if path == "/health" else 200, b"")) as url:
        probe = HealthProbe("decode-0", url)
        assert [(one.name, one.value) for one in probe.read()] == [("decode-0/health", 503.0)]


def test_a_metrics_page_that_is_an_error_is_unreadable() -> None:
    with serving(lambda _: (500, METRICS)) as url, pytest.raises(Unreadable, match="status 500"):
        MetricsProbe("router", url, ("*",)).read()


def test_a_node_that_accepts_and_never_answers_is_unreadable_in_the_bound() -> None:
    with socket.create_server(("127.0.0.1", 0)) as frozen, pytest.raises(Unreadable):
        HealthProbe("decode-0", f"http://127.0.0.1:{frozen.getsockname()[1]}").read()


def test_a_page_that_drips_is_unreadable_although_it_is_never_silent() -> None:
    def drip(server: socket.socket) -> None:
        caller, _ = server.accept()
        with caller, contextlib.suppress(OSError):
            caller.recv(4096)
            caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(20):
                caller.sendall(b"x")
                time.sleep(0.05)  # this is the drip

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        with pytest.raises(Unreadable):
            fetch(f"http://127.0.0.1:{server.getsockname()[1]}", "/metrics")
        thread.join(5)


def a_process(code: str) -> tuple[subprocess.Popen[str], ProcessId]:
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = identify(child.pid)
    assert found is not None
    assert child.stdout is not None
    child.stdout.readline()
    return child, found


def test_descriptors_threads_and_connections_of_a_process_are_counted() -> None:
    code = (
        "import socket, sys, threading\n"
        "door = socket.create_server(('127.0.0.1', 0))\n"
        "mine = socket.create_connection(door.getsockname())\n"
        "theirs, _ = door.accept()\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print('up', flush=True)\n"
        "sys.stdin.read()"
    )
    child, process = a_process(code)
    try:
        values = {one.name: one.value for one in ProcessProbe("n", lambda: [process]).read()}
        assert values["n/established"] == 2.0
        assert values["n/resident_bytes"] > 0
        assert values["n/threads"] == 2.0
        assert values["n/fds"] == 4.0  # three standard ones and the door
    finally:
        child.communicate(timeout=5)


def test_a_connection_of_our_own_is_no_leak_of_the_node_s() -> None:
    code = (
        "import socket, sys\n"
        "door = socket.create_server(('127.0.0.1', 0))\n"
        "print(door.getsockname()[1], flush=True)\n"
        "print('up', door.accept()[0], flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code + "sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = identify(child.pid)
    assert found is not None
    assert child.stdout is not None
    try:
        with socket.create_connection(("127.0.0.1", int(child.stdout.readline()))):
            child.stdout.readline()
            values = {one.name: one.value for one in ProcessProbe("n", lambda: [found]).read()}
        assert values["n/established"] == 0.0
    finally:
        child.communicate(timeout=5)


def test_a_node_that_is_down_is_unreadable_and_not_without_descriptors() -> None:
    with pytest.raises(Unreadable, match="n is down"):
        ProcessProbe("n", list).read()
    with pytest.raises(Unreadable, match="ended while it was read"):
        ProcessProbe("n", lambda: [ProcessId(2**22 - 1, 1)]).read()


def test_shared_memory_under_our_prefix_is_counted_and_nothing_else() -> None:
    prefix = f"pdchaos-test-{os.getpid()}-"
    mine = Path("/dev/shm") / f"{prefix}x"  # noqa: S108 - ours by its prefix
    mine.touch()
    try:
        assert SharedMemoryProbe(prefix).read()[0].value == 1.0
    finally:
        mine.unlink()
    assert SharedMemoryProbe(prefix).read()[0].value == 0.0
