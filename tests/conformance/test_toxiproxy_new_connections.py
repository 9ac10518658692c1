"""What a connection sees that is made while a toxic is on, or while the upstream is down."""

from __future__ import annotations

import threading
from hashlib import sha256
from random import Random

import pytest
import requests

from stack.links import Switchboard
from tests.fakes.wire import Wire


def test_a_reset_while_it_is_on_resets_new_connections_at_both_ends(
    wire: Wire, stream: str
) -> None:
    with wire.link.bend("reset_peer", {"timeout": 0}, stream):
        client, server = wire.connect()
        (client if stream == "upstream" else server).say(b"lost")
        assert client.ending() == "reset"
        assert server.ending() == "reset"


def test_a_reset_that_is_on_resets_whatever_ends_the_connection(wire: Wire) -> None:
    with wire.link.bend("reset_peer", {"timeout": 0}, "upstream"):
        client, server = wire.connect()
        server.close()
        assert client.ending() == "reset"


def test_a_stall_holds_a_new_connection_too(wire: Wire, stream: str) -> None:
    with wire.link.bend("bandwidth", {"rate": 0}, stream):
        client, server = wire.connect()
        speaker, listener = (client, server) if stream == "upstream" else (server, client)
        speaker.say(b"held")
        assert listener.hears_nothing()
    assert listener.hear(4) == b"held"


def test_each_new_connection_has_a_limit_of_its_own(wire: Wire, stream: str) -> None:
    with wire.link.bend("limit_data", {"bytes": 3}, stream):
        for _ in range(2):
            client, server = wire.connect()
            speaker, listener = (client, server) if stream == "upstream" else (server, client)
            speaker.say(b"12345")
            assert listener.hear(5) == b"123"


def test_a_toxicity_of_zero_spares_every_connection(wire: Wire, stream: str) -> None:
    _add(wire, {"type": "timeout", "stream": stream, "toxicity": 0})
    client, server = wire.connect()
    speaker, listener = (client, server) if stream == "upstream" else (server, client)
    speaker.say(b"spared")
    assert listener.hear(6) == b"spared"


def test_a_toxicity_of_seven_is_as_good_as_one(wire: Wire, stream: str) -> None:
    _add(wire, {"type": "timeout", "stream": stream, "toxicity": 7})
    client, server = wire.connect()
    speaker, listener = (client, server) if stream == "upstream" else (server, client)
    speaker.say(b"lost")
    assert listener.hears_nothing()


def test_bytes_of_many_connections_and_slow_readers_do_not_mix(wire: Wire) -> None:
    bodies = [Random(f"body {number}").randbytes(16_000_000) for number in range(4)]
    pairs = [wire.open(stream) for stream in ("upstream", "downstream") * 2]
    for (speaker, _), body in zip(pairs, bodies, strict=True):
        threading.Thread(target=speaker.say, args=(body,), daemon=True).start()
    digests = [sha256() for _ in pairs]
    for _ in range(80):  # in turns, so that each writer is blocked for most of the time
        for (_, listener), digest in zip(pairs, digests, strict=True):
            digest.update(listener.hear(200_000))
    assert [digest.hexdigest() for digest in digests] == [sha256(b).hexdigest() for b in bodies]


def test_a_sender_that_closes_is_heard_to_the_end_by_a_slow_reader(wire: Wire, stream: str) -> None:
    speaker, listener = wire.open(stream)
    body = Random("body").randbytes(16_000_000)

    def say_and_close() -> None:
        speaker.say(body)
        speaker.close()

    writer = threading.Thread(target=say_and_close, daemon=True)
    writer.start()
    digest = sha256(listener.hear(len(body) - 4_000_000))
    writer.join(10)  # the rest fits into the buffers on the way
    digest.update(listener.hear(4_000_000))
    assert digest.hexdigest() == sha256(body).hexdigest()
    assert listener.ending() == "end"


def test_a_dead_upstream_is_an_accepted_connection_that_ends(wire: Wire) -> None:
    wire.forget_upstream()
    client = wire.knock()
    assert client.ending() == "end"


def test_a_disabled_proxy_refuses_and_keeps_its_port(wire: Wire) -> None:
    for enabled in (False, True):
        answer = requests.post(wire.link.proxy_url, json={"enabled": enabled}, timeout=5)
        assert answer.json()["enabled"] is enabled
        if not enabled:
            with pytest.raises(ConnectionRefusedError):
                wire.knock()
    wire.open("upstream")


def test_a_reset_of_the_server_heals_everything(board: Switchboard, wire: Wire) -> None:
    _add(wire, {"type": "timeout", "stream": "upstream"})
    requests.post(wire.link.proxy_url, json={"enabled": False}, timeout=5)
    assert requests.post(f"{board.api_url}/reset", timeout=5).status_code == 204
    wire.open("upstream")


def test_a_new_upstream_closes_what_was_connected_to_the_old_one(wire: Wire) -> None:
    _, listener = wire.open("downstream")
    listen = f"127.0.0.1:{wire.link.listen_port}"
    body = {"upstream": "127.0.0.1:1", "listen": listen, "enabled": True}
    assert requests.post(wire.link.proxy_url, json=body, timeout=5).status_code == 200
    assert listener.ending() == "end"
    assert wire.knock().ending() == "end"


def test_bytes_are_counted_when_a_connection_has_ended(board: Switchboard, wire: Wire) -> None:
    speaker, listener = wire.open("upstream")
    speaker.say(bytes(999))
    listener.hear(999)
    speaker.close()
    assert listener.ending() == "end"
    wire.link.traffic()  # a look does not disturb
    page = requests.get(f"{board.api_url}/metrics", timeout=5).text
    for verb in ("received", "sent"):
        (line,) = [
            line
            for line in page.splitlines()
            if line.startswith(f"toxiproxy_proxy_{verb}_bytes_total")
            and f'proxy="{wire.link.proxy_name}"' in line
            and 'direction="upstream"' in line
        ]
        assert float(line.rpartition(" ")[2]) == 1000


def _add(wire: Wire, toxic: dict[str, str | int]) -> None:
    answer = requests.post(f"{wire.link.proxy_url}/toxics", json=toxic, timeout=5)
    assert answer.status_code == 200, answer.text
