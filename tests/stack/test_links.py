"""Links: bent, cut, read back, proven, healed, on both servers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping

import pytest
import requests

import stack.bounded_toxiproxy
import stack.passage_watch
from stack.bounded_toxiproxy import (
    ProxySeen,
    ToxicSeen,
    Toxiproxy,
    ToxiproxyRefused,
    ToxiproxySilent,
)
from stack.link_traffic import Traffic
from stack.links import Switchboard
from stack.proxied_link import LinkNotBent, LinkNotHealed
from tests.fakes.wire import Wire, opened


@pytest.fixture(scope="module", params=["real", "embedded"])
def board(request: pytest.FixtureRequest) -> Iterator[Switchboard]:
    with opened(request.param, request.config) as switchboard:
        yield switchboard


@pytest.fixture
def wire(board: Switchboard) -> Iterator[Wire]:
    with Wire(board) as one:
        yield one


def toxics(wire: Wire) -> list[object]:
    return requests.get(f"{wire.link.proxy_url}/toxics", timeout=5).json()


def test_a_misspelt_attribute_is_an_error_and_leaves_nothing(wire: Wire) -> None:
    with (
        pytest.raises(LinkNotBent, match="latncy"),
        wire.link.bend("latency", {"latncy": 5}, "upstream"),
    ):
        pytest.fail("the body ran although the toxic is a no-op")
    assert toxics(wire) == []


def test_an_unknown_toxic_is_an_error(wire: Wire) -> None:
    with (
        pytest.raises(ToxiproxyRefused, match="invalid toxic type"),
        wire.link.bend("lag", {}, "upstream"),
    ):
        pytest.fail("the body ran without a toxic")


def test_a_stream_in_other_letters_is_an_error(wire: Wire) -> None:
    with pytest.raises(ValueError, match="stream"), wire.link.bend("noop", {}, "Upstream"):
        pytest.fail("the body ran with a toxic that we would not find again")


def test_the_toxic_is_taken_off_when_the_body_raises(wire: Wire) -> None:
    with pytest.raises(KeyError), wire.link.bend("timeout", {"timeout": 0}, "upstream"):
        raise KeyError
    assert toxics(wire) == []


def test_a_cut_is_healed_when_the_body_raises(wire: Wire) -> None:
    with pytest.raises(KeyError), wire.link.cut():
        raise KeyError
    wire.open("upstream")


def test_two_bends_of_one_kind_do_not_meet(wire: Wire) -> None:
    with wire.link.bend("latency", {"latency": 1}, "upstream"):
        with wire.link.bend("latency", {"latency": 2}, "upstream"):
            assert len(toxics(wire)) == 2
        assert len(toxics(wire)) == 1


def test_a_stall_has_bitten_only_when_bytes_are_held(wire: Wire) -> None:
    speaker, listener = wire.open("upstream")
    with wire.link.bend("bandwidth", {"rate": 0}, "upstream") as proof:
        assert not proof.read().bit
        listener.say(b"the other way")
        speaker.hear(13)
        assert not proof.read().bit
        speaker.say(b"held")
        assert listener.hears_nothing()
        evidence = proof.read()
    assert evidence.bit
    assert evidence.detail["held_bytes"] == 4


def test_a_stall_that_its_connection_did_not_survive_has_bitten(wire: Wire) -> None:
    speaker, listener = wire.open("upstream")
    with wire.link.bend("bandwidth", {"rate": 0}, "upstream") as proof:
        speaker.say(bytes(200_000))
        assert proof.read().bit
        listener.close()
        speaker.is_cut_off()
        assert proof.read().bit


def test_a_stall_is_watched_while_nobody_reads_its_proof(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack.passage_watch, "LOOK_EVERY_S", 0.01)
    looks = threading.Semaphore(0)
    look = wire.link.traffic

    def counted() -> Traffic | None:
        seen = look()
        looks.release()
        return seen

    monkeypatch.setattr(wire.link, "traffic", counted)
    speaker, listener = wire.open("upstream")
    with wire.link.bend("bandwidth", {"rate": 0}, "upstream") as proof:
        speaker.say(bytes(200_000))
        while looks.acquire(blocking=False):  # looks that were taken before the words
            pass
        assert all(looks.acquire(timeout=5) for _ in range(2))
        listener.close()
        speaker.is_cut_off()
        assert proof.read().bit


def test_a_blackhole_on_a_new_connection_has_bitten(wire: Wire) -> None:
    with wire.link.bend("timeout", {"timeout": 0}, "downstream") as proof:
        client, server = wire.connect()
        server.say(b"lost")
        assert client.hears_nothing()
        client.close()
        assert server.ending() in {"end", "reset"}
        assert proof.read().bit


def test_latency_has_bitten_when_bytes_passed(wire: Wire) -> None:
    speaker, listener = wire.open("downstream")
    with wire.link.bend("latency", {"latency": 1}, "downstream") as proof:
        assert not proof.read().bit
        speaker.say(b"late")
        assert listener.hear(4) == b"late"
        assert proof.read().bit


def test_a_limit_has_bitten_only_when_it_was_reached(wire: Wire) -> None:
    speaker, listener = wire.open("downstream")
    with wire.link.bend("limit_data", {"bytes": 10}, "downstream") as proof:
        speaker.say(b"12345")
        assert listener.hear(5) == b"12345"
        assert not proof.read().bit
        speaker.say(b"12345")
        assert listener.hear(6) == b"12345"
        assert listener.ending() == "end"
        assert proof.read().bit


def test_a_limit_has_bitten_although_the_connection_had_gone_when_somebody_looked(
    wire: Wire,
) -> None:
    speaker, listener = wire.open("upstream")
    with wire.link.bend("limit_data", {"bytes": 10}, "upstream") as proof:
        speaker.say(b"1234567890" * 20_000)  # more than the proxy reads at once
        assert listener.hear(11) == b"1234567890"
        assert speaker.is_cut_off()
        assert proof.read().bit


def test_a_connection_that_ends_by_itself_before_the_limit_proves_nothing(wire: Wire) -> None:
    speaker, listener = wire.open("downstream")
    with wire.link.bend("limit_data", {"bytes": 1000}, "downstream") as proof:
        speaker.say(b"12345")
        speaker.close()
        assert listener.hear(6) == b"12345"
        evidence = proof.read()
    assert evidence.detail["ended_connections"] == 1
    assert not evidence.bit


def test_what_a_stall_holds_is_counted_once_when_its_sender_has_closed(wire: Wire) -> None:
    speaker, listener = wire.open("upstream")
    with wire.link.bend("bandwidth", {"rate": 0}, "upstream") as proof:
        speaker.say(b"held")
        speaker.close()
        assert listener.hears_nothing()
        detail = proof.read().detail
    assert (detail["held_bytes"], detail["closing_connections"]) == (4, 1)


def test_a_reset_of_an_idle_link_has_not_bitten(wire: Wire) -> None:
    speaker, listener = wire.open("upstream")
    with wire.link.bend("reset_peer", {"timeout": 0}, "upstream") as proof:
        assert not proof.read().bit
        speaker.say(b"lost")
        assert listener.ending() == "end"
        assert proof.read().bit


def test_a_reset_that_acts_before_we_can_look_again_has_bitten(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaker, listener = wire.open("upstream")
    toxics = Toxiproxy.toxics

    def act_and_read_back(server: Toxiproxy, proxy: ProxySeen) -> Mapping[str, ToxicSeen]:
        with contextlib.suppress(OSError):
            speaker.say(b"lost")
            listener.ending()
        return toxics(server, proxy)

    monkeypatch.setattr(Toxiproxy, "toxics", act_and_read_back)
    with wire.link.bend("reset_peer", {"timeout": 0}, "upstream") as proof:
        assert proof.read().bit


def test_latency_did_not_delay_what_passed_before_it_was_on(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaker, listener = wire.open("upstream")
    add_toxic = Toxiproxy.add_toxic

    def pass_and_add(server: Toxiproxy, proxy: ProxySeen, toxic: Mapping[str, object]) -> None:
        speaker.say(b"early")
        assert listener.hear(5) == b"early"
        add_toxic(server, proxy, toxic)

    monkeypatch.setattr(Toxiproxy, "add_toxic", pass_and_add)
    with wire.link.bend("latency", {"latency": 1}, "upstream") as proof:
        assert not proof.read().bit


def test_a_proof_that_is_read_after_the_toxic_has_gone_does_not_hold(wire: Wire) -> None:
    speaker, listener = wire.open("upstream")
    with wire.link.bend("latency", {"latency": 1}, "upstream") as proof:
        speaker.say(b"late")
        listener.hear(4)
    assert not proof.read().bit


def test_a_cut_proves_itself_by_a_refused_connection(wire: Wire) -> None:
    wire.open("upstream")
    with wire.link.cut() as proof:
        evidence = proof.read()
    assert evidence.bit
    assert evidence.detail == {"read_back": True, "refused": True, "ended_connections": 1}
    assert not proof.read().bit


def test_traffic_is_counted_in_both_directions_without_standing_in_its_way(wire: Wire) -> None:
    speaker, listener = wire.open("upstream")
    listener.say(bytes(500))
    speaker.hear(500)
    traffic = wire.link.traffic()
    assert traffic is not None
    assert (traffic.upstream.received, traffic.upstream.sent) == (1, 1)
    assert (traffic.downstream.received, traffic.downstream.sent) == (500, 500)


def test_a_link_whose_reader_is_stuck_is_never_left_hanging(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack.bounded_toxiproxy, "CALL_S", 0.5)
    speaker, _ = wire.open("downstream")
    speaker.sock.settimeout(0.2)
    with contextlib.suppress(TimeoutError):  # full: the reader does not read
        while True:
            speaker.say(bytes(1 << 20))
    with (
        contextlib.suppress(ToxiproxySilent),
        wire.link.bend("latency", {"latency": 1}, "downstream"),
    ):
        pass
    assert toxics(wire) == []
    wire.open("downstream")


def test_a_link_name_is_used_once(board: Switchboard, wire: Wire) -> None:
    with pytest.raises(ValueError, match="expected a new link name"):
        board.link(wire.link.name, "127.0.0.1", 1, 0)


def test_a_link_on_a_port_in_use_is_a_clear_error(board: Switchboard, wire: Wire) -> None:
    with pytest.raises(ToxiproxyRefused, match="address already in use"):
        board.link("x->y", "127.0.0.1", 1, wire.link.listen_port)
    assert "x->y" not in board.links


def test_a_link_that_cannot_be_healed_says_so(wire: Wire) -> None:
    with pytest.raises(LinkNotHealed, match="proxy not found"), wire.link.cut():
        requests.delete(wire.link.proxy_url, timeout=5)


def test_a_toxic_that_cannot_be_taken_off_says_so(wire: Wire) -> None:
    with pytest.raises(LinkNotHealed, match="has gone"), wire.link.bend("noop", {}, "upstream"):
        requests.delete(wire.link.proxy_url, timeout=5)
