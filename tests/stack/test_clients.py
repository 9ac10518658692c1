"""The tests' end of the load generator: every call bounded, every death told."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from chaos.contracts import Clients as ClientsContract
from chaos.contracts import Request
from chaos.event import Kind, Mark
from stack.clients import BatchRunning, Clients
from stack.load_process import LoadGeneratorDied, Report
from tests.fakes.heard import Heard
from tests.fakes.sse_server import SOON_S, SseServer, endless, silent
from tests.stack.stopping import stopped

HELLO = Request("r0", 0.0, "hello", 5)


@pytest.fixture
def server() -> Generator[SseServer]:
    with SseServer({"silent": silent, "endless": endless}) as one:
        yield one


@pytest.fixture
def clients(server: SseServer) -> Generator[Clients]:
    with Clients(server.url) as one:
        yield one


def hung(name: str) -> Request:
    return Request(name, 0.0, "hello", 5)


def alive(pid: int) -> bool:
    """Whether there is still a process, or a child that nobody has waited for."""
    return Path(f"/proc/{pid}").exists()


class DeafProcess:
    """Takes every command; its lines are what a test says."""

    def __init__(self, hear: Callable[[Report], None], _on_spawn: object) -> None:
        self.hear = hear

    def ask(self, _command: str, _timeout_s: float, **_arguments: object) -> object:
        return True

    def close(self, _within_s: float) -> None:
        return


def test_a_line_of_another_batch_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    hears: list[Callable[[Report], None]] = []

    def spawn(hear: Callable[[Report], None], on_spawn: object) -> DeafProcess:
        hears.append(hear)
        return DeafProcess(hear, on_spawn)

    monkeypatch.setattr("stack.clients.LoadProcess", spawn)
    heard = Heard()
    Clients("http://127.0.0.1:9").start([HELLO], heard)
    for batch in (0, 1, 2):
        hears[0](Report(0, batch, (Mark(batch, "client", Kind.SENT, "r0"),)))
    assert [mark.at_ns for mark in heard.marks] == [1]


def test_it_fits_the_contract(clients: Clients) -> None:
    contract: ClientsContract = clients
    assert contract.wait(0.0)


def test_stamps_are_of_the_machines_clock_and_in_order(clients: Clients) -> None:
    heard = Heard()
    before_ns = time.monotonic_ns()
    clients.start([HELLO], heard)
    assert clients.wait(SOON_S)
    stamps = [before_ns, *(mark.at_ns for mark in heard.marks), time.monotonic_ns()]
    assert stamps == sorted(stamps)


def test_every_mark_was_heard_when_wait_returns(clients: Clients) -> None:
    for batch in range(20):
        heard = Heard()
        clients.start([Request(f"r{batch}", 0.0, "hello", 5)], heard)
        assert clients.wait(SOON_S)
        assert heard.ending(f"r{batch}").kind is Kind.FINISHED


def test_a_request_that_hangs_is_waited_for_no_longer_than_told(clients: Clients) -> None:
    clients.start([hung("silent")], Heard())
    assert not clients.wait(0.05)


def test_a_second_batch_is_refused_while_the_first_runs(clients: Clients) -> None:
    clients.start([hung("silent")], Heard())
    with pytest.raises(BatchRunning):
        clients.start([HELLO], Heard())


def test_after_stop_nothing_is_heard_and_another_batch_plays(
    clients: Clients, server: SseServer
) -> None:
    first, second = Heard(), Heard()
    clients.start([hung("endless")], first)
    first.wait_for(Kind.TOKENS, "endless")
    clients.stop(SOON_S)
    heard_until_then = len(first.marks)
    assert server.left.get(timeout=SOON_S) == "endless"
    clients.start([HELLO], second)
    assert clients.wait(SOON_S)
    assert len(first.marks) == heard_until_then
    assert second.of("r0") == [Kind.SENT, Kind.TOKENS, Kind.FINISHED]


def test_a_load_generator_that_dies_is_told_and_nobody_waits(clients: Clients) -> None:
    heard = Heard()
    clients.start([hung("silent")], heard)
    heard.wait_for(Kind.SENT, "silent")
    os.kill(clients.pid, signal.SIGKILL)
    with pytest.raises(LoadGeneratorDied, match="code -9"):
        clients.wait(SOON_S)
    heard.wait_for(Kind.TOOL_ERROR, "load_generator")
    with pytest.raises(LoadGeneratorDied):
        clients.disconnect("silent", SOON_S)


def test_one_that_died_is_replaced_at_the_next_start(clients: Clients) -> None:
    os.kill(clients.pid, signal.SIGKILL)
    heard = Heard()
    clients.start([HELLO], heard)
    assert clients.wait(SOON_S)
    assert heard.ending("r0").kind is Kind.FINISHED


def test_one_that_is_frozen_answers_too_late_and_stop_kills_it(clients: Clients) -> None:
    clients.start([hung("silent")], Heard())
    frozen = clients.pid
    with stopped(frozen):
        with pytest.raises(TimeoutError):
            clients.disconnect("silent", 0.1)
        clients.stop(0.1)
    heard = Heard()
    clients.start([HELLO], heard)
    assert clients.wait(SOON_S)
    assert heard.ending("r0").kind is Kind.FINISHED
    assert not alive(frozen)


def test_a_listener_that_fails_ends_the_run_and_says_so(clients: Clients) -> None:
    def fail(_mark: Mark) -> None:
        raise ZeroDivisionError("ours")

    clients.start([hung("silent")], fail)
    with pytest.raises(LoadGeneratorDied, match="ZeroDivisionError"):
        clients.wait(SOON_S)


def test_a_slow_listener_loses_nothing(clients: Clients) -> None:
    gate = threading.Event()
    heard = Heard()

    def slow(mark: Mark) -> None:
        gate.wait(SOON_S)
        heard(mark)

    requests = [Request(f"r{index}", 0.0, "hello", 50) for index in range(20)]
    clients.start(requests, slow)
    assert not clients.wait(0.2)
    gate.set()
    assert clients.wait(SOON_S)
    assert all(len(heard.text(request.request_id)) == 50 for request in requests)


def test_close_ends_the_process_and_may_come_twice(server: SseServer) -> None:
    clients = Clients(server.url)
    clients.close()
    assert not alive(clients.pid)
    clients.close()


def test_whoever_wants_to_know_is_told_each_pid(server: SseServer) -> None:
    spawned: list[int] = []
    with Clients(server.url, on_spawn=spawned.append) as clients:
        os.kill(clients.pid, signal.SIGKILL)
        clients.start([HELLO], Heard())
        assert clients.wait(SOON_S)
        assert len(spawned) == 2
        assert spawned[1] == clients.pid


def test_it_survives_the_thread_that_made_it(server: SseServer) -> None:
    made: list[Clients] = []
    maker = threading.Thread(target=lambda: made.append(Clients(server.url)))
    maker.start()
    maker.join(SOON_S)
    with made[0] as clients:
        heard = Heard()
        clients.start([HELLO], heard)
        assert clients.wait(SOON_S)
        assert heard.ending("r0").kind is Kind.FINISHED


def test_the_url_is_asked_for_at_each_start(server: SseServer) -> None:
    urls = iter(["http://127.0.0.1:9", server.url + "/"])
    with Clients(lambda: next(urls)) as clients:
        endings: list[Kind] = []
        for _ in range(2):
            heard = Heard()
            clients.start([HELLO], heard)
            assert clients.wait(SOON_S)
            endings.append(heard.ending("r0").kind)
    assert endings == [Kind.BROKE, Kind.FINISHED]


@pytest.mark.parametrize(
    ("requests", "complaint"),
    [
        ([HELLO, HELLO], "two requests are called 'r0'"),
        ([Request("r1", 0.0, "x", 1, after="r0"), HELLO], "comes after 'r0'"),
        ([Request("r0", 0.0, "x", 1, after="r0")], "comes after 'r0'"),
        ([Request("r0", 0.0, "x", 0)], "tokens_max"),
        ([Request("r0", 0.0, "x", 1, tries_max=0)], "tries_max"),
        ([Request("r0", -1.0, "x", 1)], "due_s"),
    ],
)
def test_a_batch_that_cannot_be_played_is_refused(
    clients: Clients, requests: list[Request], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        clients.start(requests, Heard())


def test_a_late_loop_is_told(clients: Clients) -> None:
    heard = Heard()
    clients.start([hung("silent")], heard)
    heard.wait_for(Kind.SENT, "silent")
    with stopped(clients.pid):
        threading.Event().wait(0.3)  # the lateness itself, not an event that one could wait for
    lag = heard.wait_for(Kind.LAG, "load_generator").detail["lag_s"]
    assert isinstance(lag, float)
    assert lag > 0.2
