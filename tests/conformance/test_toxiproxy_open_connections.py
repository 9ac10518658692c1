"""What a connection that is already open sees of a toxic: while it is on, and when it goes."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
import requests

from tests.fakes.wire import End, Wire

LONG_MS = 1_000_000


def test_a_timeout_swallows_everything_and_closes_when_it_goes(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("timeout", {"timeout": 0}, stream):
        speaker.say(b"lost")
        assert listener.hears_nothing()
        listener.say(b"the other way is open")
        assert speaker.hear(21) == b"the other way is open"
    assert listener.ending() == "end"
    assert speaker.is_cut_off()


def test_a_timeout_closes_an_open_connection_after_its_time(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("timeout", {"timeout": 50}, stream):
        speaker.say(b"lost")
        assert listener.ending() == "end"
    assert speaker.is_cut_off()


@pytest.mark.parametrize(
    ("toxic", "attributes"), [("latency", {"latency": LONG_MS}), ("bandwidth", {"rate": 0})]
)
def test_a_stall_holds_everything_and_delivers_it_when_it_goes(
    wire: Wire, stream: str, toxic: str, attributes: dict[str, int]
) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend(toxic, attributes, stream):
        for word in (b"one ", b"two ", b"three "):
            speaker.say(word)
        assert listener.hears_nothing()
    assert listener.hear(14) == b"one two three "
    speaker.say(b"on it goes")
    assert listener.hear(10) == b"on it goes"


def test_a_stalled_writer_blocks_and_not_one_byte_is_lost(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    body = Random("body").randbytes(12_000_000)
    writer = threading.Thread(target=speaker.say, args=(body,), daemon=True)
    with wire.link.bend("bandwidth", {"rate": 0}, stream):
        writer.start()
        assert listener.hears_nothing()
        writer.join(0.3)
        assert writer.is_alive(), "12 MB fitted into a stalled link"
    assert _digest(listener.hear(len(body))) == _digest(body)
    writer.join(10)


def test_what_was_held_and_the_end_behind_it_arrive_when_latency_goes(
    wire: Wire, stream: str
) -> None:
    speaker, listener = wire.open(stream)
    body = Random("body").randbytes(12_000_000)
    with ThreadPoolExecutor() as threads:
        with wire.link.bend("latency", {"latency": LONG_MS}, stream):
            speaker.say(body)
            speaker.close()
            assert listener.hears_nothing()
            heard = threads.submit(listener.hear, len(body) + 1)
        assert _digest(heard.result(10)) == _digest(body)


def test_latency_delays_each_chunk_and_keeps_the_order(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("latency", {"latency": 150, "jitter": 50}, stream):
        said_s = time.monotonic()
        for number in range(10):
            speaker.say(b"%d" % number)
        assert listener.hear(1) == b"0"
        assert time.monotonic() - said_s >= 0.1
        assert listener.hear(9) == b"123456789"


def test_a_bandwidth_is_not_exceeded_and_nothing_gets_stuck(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("bandwidth", {"rate": 2000}, stream):
        said_s = time.monotonic()
        speaker.say(bytes(600_000))
        assert len(listener.hear(600_000)) == 600_000
        assert time.monotonic() - said_s >= 0.2


@pytest.mark.parametrize("limit", [0, 1, 999, 65_537, 1_000_001])
def test_exactly_the_limit_passes_and_then_the_connection_ends(
    wire: Wire, stream: str, limit: int
) -> None:
    speaker, listener = wire.open(stream)
    body = Random("body").randbytes(limit + 1)
    with wire.link.bend("limit_data", {"bytes": limit}, stream):
        threading.Thread(target=_say_what_goes, args=(speaker, body), daemon=True).start()
        assert _digest(listener.hear(limit)) == _digest(body[:limit])
        assert listener.ending() == "end"
    assert speaker.is_cut_off()


def test_a_limit_counts_from_where_it_was_when_it_is_changed(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("limit_data", {"bytes": 100}, stream):
        speaker.say(bytes(60))
        assert len(listener.hear(60)) == 60
        _update(wire, {"bytes": 70})
        speaker.say(bytes(60))
        assert len(listener.hear(60)) == 10


def test_a_reset_waits_for_the_next_bytes(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("reset_peer", {"timeout": 0}, stream):
        assert listener.hears_nothing()
        speaker.say(b"lost")
        assert listener.ending() == "end"
    assert speaker.is_cut_off()


def test_a_slicer_delivers_pieces_and_the_rest_at_once_when_it_goes(
    wire: Wire, stream: str
) -> None:
    speaker, listener = wire.open(stream)
    attributes = {"average_size": 10, "size_variation": 2, "delay": 5_000_000}
    with wire.link.bend("slicer", attributes, stream):
        speaker.say(bytes(range(200)))
        first = listener.piece()
        assert len(first) <= 12
        assert listener.hears_nothing()
    assert first + listener.hear(200 - len(first)) == bytes(range(200))


def test_a_slow_close_delivers_everything_and_holds_back_the_end(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("slow_close", {"delay": 300}, stream):
        speaker.say(b"last words")
        closed_s = time.monotonic()
        speaker.close()
        assert listener.hear(10) == b"last words"
        assert listener.ending() == "end"
        assert time.monotonic() - closed_s >= 0.3


def test_a_slow_close_that_goes_closes_at_once(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("slow_close", {"delay": LONG_MS}, stream):
        speaker.close()
        assert listener.hears_nothing()
    assert listener.ending() == "end"


def test_a_changed_toxic_lets_go_of_what_it_held(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("bandwidth", {"rate": 0}, stream):
        speaker.say(b"held")
        assert listener.hears_nothing()
        _update(wire, {"rate": 1000})
        assert listener.hear(4) == b"held"
        speaker.say(b"flows")
        assert listener.hear(5) == b"flows"


def test_toxics_in_a_chain_act_one_after_the_other(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("limit_data", {"bytes": 6}, stream):
        with wire.link.bend("latency", {"latency": LONG_MS}, stream):
            speaker.say(b"123456789")
            assert listener.hears_nothing()
        assert listener.hear(9) == b"123456"


def test_the_second_of_two_toxics_can_go_while_the_first_holds(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("bandwidth", {"rate": 0}, stream):
        speaker.say(bytes(range(100)))
        assert listener.hears_nothing()
        with wire.link.bend("slicer", {"average_size": 5, "delay": 100}, stream):
            pass
        speaker.say(bytes(range(100)))
    assert listener.hear(200) == bytes(range(100)) * 2


def test_bytes_survive_toxics_that_come_and_go(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    body = Random("body").randbytes(3_000_000)
    threading.Thread(target=speaker.say, args=(body,), daemon=True).start()
    heard = bytearray()
    for toxic, attributes in [
        ("latency", {"latency": 3}),
        ("bandwidth", {"rate": 0}),
        ("slicer", {"average_size": 9000, "size_variation": 100, "delay": 10}),
        ("bandwidth", {"rate": 50_000}),
        ("noop", {}),
        ("slow_close", {"delay": 10}),
    ]:
        with wire.link.bend(toxic, attributes, stream):
            pass
        heard += listener.hear(100_000)
    heard += listener.hear(len(body) - len(heard))
    assert _digest(bytes(heard)) == _digest(body)


def test_a_cut_closes_and_refuses_until_it_is_healed(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.cut():
        assert listener.ending() == "end"
        assert speaker.is_cut_off()
        with pytest.raises(ConnectionRefusedError):
            wire.connect()
    wire.open(stream)


def test_a_cut_link_loses_what_a_stall_held(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("bandwidth", {"rate": 0}, stream):
        speaker.say(b"held")
        assert listener.hears_nothing()
        with wire.link.cut():
            assert listener.ending() == "end"


def test_a_deleted_proxy_closes_its_connections(wire: Wire, stream: str) -> None:
    _, listener = wire.open(stream)
    wire.link.destroy()
    assert listener.ending() == "end"


def test_a_half_close_ends_both_directions(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    speaker.sock.shutdown(socket.SHUT_WR)
    assert listener.ending() == "end"
    assert speaker.ending() == "end"


def test_the_far_side_of_a_stall_is_told_that_its_peer_has_gone(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    with wire.link.bend("bandwidth", {"rate": 0}, stream):
        speaker.say(b"held")
        assert listener.hears_nothing()
        listener.close()
        assert speaker.ending() in {"end", "reset"}


def _update(wire: Wire, attributes: dict[str, int]) -> None:
    url = f"{wire.link.proxy_url}/toxics"
    (toxic,) = requests.get(url, timeout=5).json()
    answer = requests.post(f"{url}/{toxic['name']}", json={"attributes": attributes}, timeout=5)
    assert answer.status_code == 200


def _say_what_goes(speaker: End, body: bytes) -> None:
    try:
        speaker.say(body)
    except OSError:  # cut off in the middle, as it should be
        return


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
