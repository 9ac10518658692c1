"""The embedded server as a program: it starts, says what is wrong, and ends when told to."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

ROOT = Path(__file__).resolve().parents[3]


def start(port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "stack.toxiproxy", "--port", str(port), "--seed", "7"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )


@retry(
    retry=retry_if_exception_type(requests.ConnectionError),
    stop=stop_after_delay(20),
    wait=wait_fixed(0.05),
    reraise=True,
)
def version(port: int) -> str:
    return requests.get(f"http://127.0.0.1:{port}/version", timeout=5).json()["version"]


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_it_ends_when_told_to_although_a_connection_is_open(port: int) -> None:
    server = start(port)
    assert version(port) == "2.12.0-embedded"
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        body = {
            "name": "p",
            "listen": "127.0.0.1:0",
            "upstream": f"127.0.0.1:{upstream.getsockname()[1]}",
        }
        proxy = requests.post(f"http://127.0.0.1:{port}/proxies", json=body, timeout=5).json()
        client = socket.create_connection(("127.0.0.1", int(proxy["listen"].rpartition(":")[2])))
        answer, _ = upstream.accept()
        server.send_signal(signal.SIGTERM)
        _, words = server.communicate(timeout=10)
        for end in (client, answer):
            end.close()
    assert (server.returncode, words) == (0, "")


def test_a_port_in_use_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = start(int(taken.getsockname()[1]))
        _, words = server.communicate(timeout=20)
    assert server.returncode == 1
    assert words.startswith("expected 127.0.0.1:")
    assert len(words.splitlines()) == 1
