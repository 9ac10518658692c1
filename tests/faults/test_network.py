"""Each fault on a link bites, heals, and heals when the body raises; on both servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from random import Random
from typing import cast

import pytest
import requests

from chaos.contracts import Fault, Linked, Stack
from chaos.stage import FaultKind, Stage
from faults.network import (
    Bandwidth,
    Bend,
    Blackhole,
    CutAfter,
    Latency,
    Refuse,
    Reset,
    SlowClose,
    Stall,
)
from stack.links import Switchboard
from stack.proxied_link import ProxiedLink
from tests.fakes.wire import End, Wire, opened

RNG = Random("victims")


@dataclass(frozen=True)
class LinkedOnly:
    """A stack that has links and nothing else."""

    links: Mapping[str, ProxiedLink]


def linked(*wires: Wire) -> Stack:
    one = LinkedOnly({wire.link.name: wire.link for wire in wires})
    assert isinstance(one, Linked)
    return cast("Stack", one)


@pytest.fixture(scope="module", params=["real", "embedded"])
def board(request: pytest.FixtureRequest) -> Iterator[Switchboard]:
    with opened(request.param, request.config) as switchboard:
        yield switchboard


@pytest.fixture
def wire(board: Switchboard) -> Iterator[Wire]:
    with Wire(board) as one:
        yield one


def swallowed(speaker: End, listener: End) -> None:
    speaker.say(b"words")
    assert listener.hears_nothing()


def passed(speaker: End, listener: End) -> None:
    speaker.say(b"words")
    assert listener.hear(5) == b"words"


def cut(speaker: End, listener: End) -> None:
    speaker.say(b"words")
    assert len(listener.hear(5)) < 5


def refused(speaker: End, listener: End) -> None:
    assert listener.ending() == "end"
    assert speaker.is_cut_off()


def closed(speaker: End, listener: End) -> None:
    speaker.close()
    assert listener.hears_nothing()
    assert listener.ending() == "end"


Feel = Callable[[End, End], None]
FAULTS: list[tuple[Callable[[str], Fault], Feel]] = [
    (Blackhole, swallowed),
    (Stall, swallowed),
    (lambda link: Latency(link, latency_s=30), swallowed),
    (lambda link: Latency(link, latency_s=0.02, jitter_s=0.01), passed),
    (lambda link: Bandwidth(link, kb_s=1), passed),
    (lambda link: CutAfter(link, n_bytes=3), cut),
    (Reset, cut),
    (lambda link: SlowClose(link, delay_s=0.3), closed),
    (Refuse, refused),
]


@pytest.mark.parametrize(("make", "feel"), FAULTS)
def test_it_bites_and_heals(wire: Wire, make: Callable[[str], Fault], feel: Feel) -> None:
    fault = make(wire.link.name)
    speaker, listener = wire.open("upstream")
    with fault.inject(linked(wire), RNG) as proof:
        feel(speaker, listener)
        evidence = proof.read()
    assert evidence.bit, evidence.detail
    assert evidence.detail["link"] == wire.link.name
    assert_healed(wire)


@pytest.mark.parametrize("make", [make for make, _ in FAULTS])
def test_it_heals_when_the_body_raises(wire: Wire, make: Callable[[str], Fault]) -> None:
    with pytest.raises(KeyError), make(wire.link.name).inject(linked(wire), RNG):
        raise KeyError
    assert_healed(wire)


@pytest.mark.parametrize("make", [make for make, _ in FAULTS if make is not Refuse])
def test_it_has_not_bitten_a_link_on_which_nothing_happens(
    wire: Wire, make: Callable[[str], Fault]
) -> None:
    wire.open("upstream")
    with make(wire.link.name).inject(linked(wire), RNG) as proof:
        assert not proof.read().bit


def assert_healed(wire: Wire) -> None:
    assert requests.get(f"{wire.link.proxy_url}/toxics", timeout=5).json() == []
    for stream in ("upstream", "downstream"):
        passed(*wire.open(stream))


def test_a_stall_loses_nothing_and_a_blackhole_loses_all(wire: Wire) -> None:
    for fault, after in ((Stall, b"held"), (Blackhole, b"")):
        speaker, listener = wire.open("upstream")
        with fault(wire.link.name).inject(linked(wire), RNG):
            speaker.say(b"held")
            assert listener.hears_nothing()
        assert listener.hear(4) == after


def test_a_fault_can_act_downstream(wire: Wire) -> None:
    speaker, listener = wire.open("downstream")
    with Stall(wire.link.name, stream="downstream").inject(linked(wire), RNG) as proof:
        swallowed(speaker, listener)
        passed(listener, speaker)
        assert proof.read().bit


def test_a_fault_can_act_both_ways(wire: Wire) -> None:
    client, server = wire.open("upstream")
    with Stall(wire.link.name, stream="both").inject(linked(wire), RNG) as proof:
        swallowed(client, server)
        assert proof.read().bit
        swallowed(server, client)
        detail = proof.read().detail
    assert (detail["upstream.held_bytes"], detail["downstream.held_bytes"]) == (5, 5)


def test_two_links_to_one_upstream_are_told_apart_by_their_clients(board: Switchboard) -> None:
    with Wire(board) as one, Wire(board) as other:
        speaker, listener = one.open("upstream")
        bystander, hearer = other.open("upstream")
        with Stall(one.link.name).inject(linked(one, other), RNG) as proof:
            passed(bystander, hearer)
            assert not proof.read().bit
            swallowed(speaker, listener)
            assert proof.read().bit


def test_a_pattern_of_roles_hits_one_that_fits_and_the_seed_decides_which() -> None:
    names = ["prefill-0->decode-0/kv", "prefill-1->decode-0/kv", "prefill-0->decode-1/kv"]
    names += ["decode-0->prefill-0/bootstrap", "router->decode-0"]
    hits = [_hit("prefill->decode/kv", names, seed) for seed in range(40)]
    assert set(hits) == set(names[:3])
    assert hits == [_hit("prefill->decode/kv", names, seed) for seed in range(40)]
    assert {_hit("prefill-0->decode/kv", names, seed) for seed in range(20)} == {names[0], names[2]}
    assert _hit("router->decode", names, 0) == "router->decode-0"


def test_an_exact_name_is_that_link() -> None:
    names = ["router->decode-0", "router->decode-1"]
    assert {_hit("router->decode-1", names, seed) for seed in range(20)} == {"router->decode-1"}


def test_a_link_that_is_not_there_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match=r"no link 'decode->prefill/kv'.*it has prefill-0->"):
        _hit("decode->prefill/kv", ["prefill-0->decode-0/kv"], 0)


class Recording:
    """A link that notes that it was hit."""

    def __init__(self, name: str, hits: list[str]) -> None:
        self.name = name
        self._hits = hits

    def bend(self, toxic: str, attributes: object, stream: str) -> object:
        self._hits.append(self.name)
        return nullcontext()


def _hit(pattern: str, names: list[str], seed: int) -> str:
    hits: list[str] = []
    links = {name: cast("ProxiedLink", Recording(name, hits)) for name in names}
    with Stall(pattern).inject(cast("Stack", LinkedOnly(links)), Random(seed)):
        (hit,) = hits
    return hit


@pytest.mark.parametrize(
    ("fault", "stage", "kind"),
    [
        (Stall("prefill-0->decode-0/kv"), Stage.TRANSFER, FaultKind.FROZEN),
        (Blackhole("decode->prefill/bootstrap"), Stage.BOOTSTRAP, FaultKind.LOST),
        (Latency("client->router", 1), Stage.STREAM, FaultKind.LATE),
        (Latency("client->router", 1, stream="upstream"), Stage.CLIENT, FaultKind.LATE),
        (Refuse("client->router"), Stage.CLIENT, FaultKind.KILLED),
        (Reset("router->decode-0"), Stage.DISPATCH, FaultKind.KILLED),
        (Reset("router->decode-0", at=Stage.STREAM), Stage.STREAM, FaultKind.KILLED),
        (CutAfter("router->prefill-0", 5), Stage.DISPATCH, FaultKind.LOST),
    ],
)
def test_the_stage_is_the_one_that_the_link_serves(
    fault: Fault, stage: Stage, kind: FaultKind
) -> None:
    assert (fault.stage, fault.kind, fault.needs) == (stage, kind, Linked)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Latency("a->b", latency_s=0),
        lambda: Bandwidth("a->b", kb_s=0),
        lambda: CutAfter("a->b", n_bytes=-1),
        lambda: SlowClose("a->b", delay_s=-1),
        lambda: Stall("a->b", stream="sideways"),
    ],
)
def test_what_cannot_be_done_is_refused_when_it_is_written(make: Callable[[], Bend]) -> None:
    with pytest.raises(ValueError, match="expected"):
        make()
