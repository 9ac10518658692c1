"""What our load generator carries, against the cheapest server that streams."""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from chaos.clock import NS_PER_S, MonotonicClock, seconds
from chaos.contracts import Request
from chaos.event import SETTLED, Event, Kind, number
from chaos.recorder import Recorder
from ci.benches.asking import until
from ci.benches.effort import Effort, NotMeasured
from ci.benches.mortal import end, spawn
from ci.benches.promise import Figure, Promise, at_least
from stack.clients import Clients
from stack.ports import Ports, is_listening

STREAMS: Final = "streams that the load generator holds at once"
EVENTS: Final = "events a second that it records meanwhile"
LAG: Final = "worst lag of its own loop"
PROMISES = (
    Promise(STREAMS, at_least(5_000, "")),
    Promise(EVENTS, at_least(30_000, "/s")),
    Promise(LAG, unit="s"),
)
COUNT: Final = 5_000
EVERY_S: Final = 0.14  # 35,714 events a second are offered
START_S: Final = 10.0
PLAY_S: Final = 60.0
STOP_S: Final = 5.0


def measure(effort: Effort) -> Iterator[Figure]:
    tokens = effort.pick(150, 60)
    with _server() as url, Clients(url) as clients:
        events = _played(clients, tokens)
    began = _first_tokens(events)
    ended = [event for event in events if event.kind in SETTLED]
    failed = [event for event in ended if event.kind is not Kind.FINISHED]
    if failed:
        raise NotMeasured(f"{len(failed)} of {COUNT} streams failed: {dict(failed[0].detail)}")
    yield Figure(STREAMS, (float(_open_at_once(began, ended)),), f"{len(ended)} finished")
    rates = _rates(events, max(began.values()), min(one.at_ns for one in ended))
    note = f"each whole second in which all {COUNT} were open; {1 / EVERY_S * COUNT:,.0f} offered"
    yield Figure(EVENTS, tuple(rates), note)
    lags = [number(event, "lag_s") for event in events if event.kind is Kind.LAG]
    yield Figure(LAG, (max(lags, default=0.0),), f"{len(lags)} marks")


@contextmanager
def _server() -> Generator[str]:
    ports = Ports()
    port = ports.lease()
    words = ["-m", "tests.fakes.bare_server", "--port", str(port), "--every-s", str(EVERY_S)]
    server = spawn(words, subprocess.DEVNULL, subprocess.DEVNULL)
    try:
        if not until(lambda: is_listening(port), START_S):
            raise NotMeasured(f"the bare server did not listen within {START_S:.0f} s")
        yield f"http://127.0.0.1:{port}"
    finally:
        end(server, STOP_S)
        ports.release()


def _played(clients: Clients, tokens: int) -> Sequence[Event]:
    """All marks, through the recorder, as in an experiment."""
    recorder = Recorder(MonotonicClock())
    requests = [Request(f"s{index}", 0.0, "x" * 64, tokens) for index in range(COUNT)]
    clients.start(requests, recorder.accept)
    if not clients.wait(PLAY_S):
        clients.stop(STOP_S)
        raise NotMeasured(f"{COUNT} streams of {tokens} events took longer than {PLAY_S:.0f} s")
    return recorder.finish()


def _first_tokens(events: Sequence[Event]) -> dict[str, int]:
    began: dict[str, int] = {}
    for event in events:
        if event.kind is Kind.TOKENS:
            began.setdefault(event.about, event.at_ns)
    return began


def _open_at_once(began: dict[str, int], ended: Sequence[Event]) -> int:
    steps = sorted([(at_ns, 1) for at_ns in began.values()] + [(one.at_ns, -1) for one in ended])
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def _rates(events: Sequence[Event], from_ns: int, to_ns: int) -> list[float]:
    """Events in each whole second between these moments; none: they lie too close together."""
    whole = int(seconds(to_ns - from_ns))
    counts = [0] * max(0, whole)
    for event in events:
        second = (event.at_ns - from_ns) // NS_PER_S
        if event.kind is Kind.TOKENS and event.at_ns >= from_ns and second < whole:
            counts[second] += 1
    return [float(count) for count in counts]
