"""The switchboard: starts a server or attaches to one, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

import stack.bounded_toxiproxy
from stack.bounded_toxiproxy import Toxiproxy, ToxiproxyAddress, ToxiproxySilent
from stack.links import Switchboard
from stack.process_table import identify, wait_exit
from stack.switch_process import SwitchDied
from tests.fakes.wire import Wire, opened

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=["real", "embedded"])
def board(request: pytest.FixtureRequest) -> Iterator[Switchboard]:
    with opened(request.param, request.config) as switchboard:
        yield switchboard


@pytest.fixture
def wire(board: Switchboard) -> Iterator[Wire]:
    with Wire(board) as one:
        yield one


def test_the_kind_of_server_is_told(board: Switchboard) -> None:
    assert board.kind in {"embedded", "toxiproxy v2.12.0"}


def test_a_board_that_closes_ends_its_server() -> None:
    with Switchboard(server="embedded") as board:
        assert board.pid is not None
        server = identify(board.pid)
        assert server is not None
    assert wait_exit(server, 1.0)
    with pytest.raises(ToxiproxySilent, match="not open"):
        _ = board.api_url


def test_an_api_port_in_use_is_not_taken_for_our_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        with pytest.raises(SwitchDied, match="free"), Switchboard(port, "embedded"):
            pytest.fail("a stranger answered for our server")


def test_attaching_leaves_nothing_but_what_was_there(
    board: Switchboard, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOXIPROXY_URL", board.api_url)
    with Switchboard() as guest:
        assert guest.kind == "external"
        with Wire(guest) as theirs:
            speaker, listener = theirs.open("upstream")
            with theirs.link.bend("bandwidth", {"rate": 0}, "upstream") as proof:
                speaker.say(b"held")
                assert listener.hears_nothing()
                assert proof.read().bit
    left = requests.get(f"{board.api_url}/proxies", timeout=5).json()
    assert wire.link.proxy_name in left
    assert not [name for name in left if name.startswith("pdchaos-")]


def test_an_address_that_is_none_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOXIPROXY_URL", "nonsense")
    with pytest.raises(ValueError, match="expected a Toxiproxy address"), Switchboard():
        pytest.fail("attached to nonsense")


def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack.bounded_toxiproxy, "CALL_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        silent = Toxiproxy(ToxiproxyAddress("127.0.0.1", int(deaf.getsockname()[1])))
        with pytest.raises(ToxiproxySilent, match="no answer"):
            silent.version()
        silent.close()


def test_two_servers_can_be_driven_at_once_from_threads(board: Switchboard) -> None:
    with Switchboard(server="embedded") as other:
        seen: dict[str, set[str]] = {}

        def drive(one: Switchboard) -> None:
            for number in range(5):
                one.link(f"t{one.pid}-{number}->x", "127.0.0.1", 1, 0)
            seen[one.api_url] = set(requests.get(f"{one.api_url}/proxies", timeout=5).json())

        threads = [threading.Thread(target=drive, args=(one,)) for one in (board, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert len({name for name in seen[board.api_url] if name.startswith("t")}) == 5
        assert len(seen[other.api_url]) == 5


SWITCHBOARD_OWNER = """
import sys, time
from stack.links import Switchboard
with Switchboard(server=sys.argv[1]) as board:
    print(board.pid, flush=True)
    time.sleep(60)
"""


def test_the_server_dies_with_a_parent_that_is_killed(board: Switchboard) -> None:
    server = "embedded" if board.kind == "embedded" else "real"
    owner = subprocess.Popen(
        [sys.executable, "-c", SWITCHBOARD_OWNER, server],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert owner.stdout is not None
    child = identify(int(owner.stdout.readline()))
    assert child is not None
    owner.send_signal(signal.SIGKILL)
    owner.wait(5)
    owner.stdout.close()
    assert wait_exit(child, 2.0)
