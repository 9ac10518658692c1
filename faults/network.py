"""Links that stall, lose, slow down, cut or refuse: faults on the bytes between two nodes."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from chaos.contracts import Evidence, Linked, Proof, Stack
from chaos.event import Json
from chaos.stage import FaultKind, Stage
from faults.link_choice import (
    DIRECTIONS,
    choose_link,
    lacks_link,
    payload_stream,
    stage_of_link,
)

MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class Bend:
    """Put one Toxiproxy toxic on a link, in one direction or in both, while inside.

    `link` is a name, or a pattern of roles ("prefill->decode/kv"): then the seed chooses.
    `stream` is "upstream" (from the left end of the link's name to the right), "downstream" or
    "both"; by default the one that carries the link's payload. The proof is the link's own: the
    toxic is on *and* had bytes or connections to act on.
    """

    link: str
    toxic: str
    attributes: Mapping[str, Json]
    title: str = ""
    kind: FaultKind = FaultKind.LATE
    stream: str | None = None
    at: Stage | None = None  # for the map; by default the stage that the link serves
    needs: type = field(default=Linked, init=False)

    def __post_init__(self) -> None:
        if self.stream not in {None, "both", *DIRECTIONS}:
            raise ValueError(f"stream: expected upstream, downstream or both, not {self.stream!r}")

    @property
    def name(self) -> str:
        way = "" if self.stream is None else f" {self.stream}"
        return f"{self.title or self.toxic} {self.link}{way}"

    @property
    def stage(self) -> Stage:
        return self.at or stage_of_link(self.link, self._streams()[-1])

    @property
    def alive(self) -> bool:
        """True when it only slows: then a guard that ends a request gives a false alarm."""
        slow = self.toxic == "bandwidth" and bool(self.attributes.get("rate"))
        return slow or self.toxic in {"latency", "slicer"}

    def lacks(self, stack: Stack) -> str | None:
        return lacks_link(stack, self.link)

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Linked)
        link = stack.links[choose_link(stack.links, self.link, rng)]
        with ExitStack() as bent:
            proofs = [
                bent.enter_context(link.bend(self.toxic, self.attributes, stream))
                for stream in self._streams()
            ]
            proof = proofs[0] if len(proofs) == 1 else _EitherWay(tuple(proofs))
            yield _On(link.name, proof)

    def _streams(self) -> tuple[str, ...]:
        if self.stream == "both":
            return DIRECTIONS
        return (self.stream or payload_stream(self.link),)


@dataclass(frozen=True, slots=True)
class Refuse:
    """Close a link's connections and refuse new ones while inside.

    The proof: the link is off, and a connection attempt of our own was refused.
    """

    link: str
    kind: FaultKind = FaultKind.KILLED  # seen from the near end, the far node is gone
    at: Stage | None = None
    needs: type = field(default=Linked, init=False)

    @property
    def name(self) -> str:
        return f"refuse {self.link}"

    @property
    def stage(self) -> Stage:
        return self.at or stage_of_link(self.link, "upstream")

    def lacks(self, stack: Stack) -> str | None:
        return lacks_link(stack, self.link)

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        assert isinstance(stack, Linked)
        link = stack.links[choose_link(stack.links, self.link, rng)]
        with link.cut() as proof:
            yield _On(link.name, proof)


@dataclass(frozen=True, slots=True)
class _On:
    """Names the link, which the seed may have chosen: it tells which nodes were touched."""

    link: str
    proof: Proof

    def read(self) -> Evidence:
        evidence = self.proof.read()
        return replace(evidence, detail={"link": self.link, **evidence.detail})


@dataclass(frozen=True, slots=True)
class _EitherWay:
    """Bent in both directions: it took effect if either of them did."""

    proofs: tuple[Proof, ...]

    def read(self) -> Evidence:
        read = dict(zip(DIRECTIONS, (proof.read() for proof in self.proofs), strict=True))
        return Evidence(
            any(one.bit for one in read.values()),
            {
                f"{way}.{key}": value
                for way, one in read.items()
                for key, value in one.detail.items()
            },
        )


def Blackhole(link: str, stream: str | None = None, at: Stage | None = None) -> Bend:  # noqa: N802 - reads as a fault
    """Bytes are accepted and lost. Healing closes the connections that it swallowed from."""
    return Bend(link, "timeout", {"timeout": 0}, "blackhole", FaultKind.LOST, stream, at)


def Stall(link: str, stream: str | None = None, at: Stage | None = None) -> Bend:  # noqa: N802 - as above
    """Nothing arrives and nothing is lost: healing delivers everything, and the stream goes on.

    The writer blocks only after some megabytes: what is smaller is *sent* and never arrives.
    """
    return Bend(link, "bandwidth", {"rate": 0}, "stall", FaultKind.FROZEN, stream, at)


def Latency(  # noqa: N802 - as above
    link: str,
    latency_s: float,
    jitter_s: float = 0.0,
    stream: str | None = None,
    at: Stage | None = None,
) -> Bend:
    """Each chunk arrives `latency_s` ± `jitter_s` late, in order, one way: not a round trip."""
    _positive("latency_s", latency_s)
    attributes = {"latency": _ms(latency_s), "jitter": _ms(jitter_s)}
    return Bend(link, "latency", attributes, f"latency {latency_s:g} s on", stream=stream, at=at)


def Bandwidth(  # noqa: N802 - as above
    link: str, kb_s: int, stream: str | None = None, at: Stage | None = None
) -> Bend:
    """At most `kb_s` times 1,000 bytes a second. For none at all there is Stall."""
    _positive("kb_s", kb_s)
    return Bend(link, "bandwidth", {"rate": kb_s}, f"{kb_s} KB/s on", stream=stream, at=at)


def CutAfter(  # noqa: N802 - as above
    link: str, n_bytes: int, stream: str | None = None, at: Stage | None = None
) -> Bend:
    """Each connection passes exactly so many more bytes and is closed."""
    if n_bytes < 0:
        raise ValueError(f"n_bytes: expected 0 or more, not {n_bytes}")
    title = f"cut after {n_bytes} bytes"
    return Bend(link, "limit_data", {"bytes": n_bytes}, title, FaultKind.LOST, stream, at)


def Reset(link: str, stream: str | None = None, at: Stage | None = None) -> Bend:  # noqa: N802 - as above
    """The next bytes in this direction close their connection; a new connection is reset.

    An idle connection stays as it is. The reader of one that was open sees an orderly end.
    """
    return Bend(link, "reset_peer", {"timeout": 0}, "reset", FaultKind.KILLED, stream, at)


def SlowClose(  # noqa: N802 - as above
    link: str, delay_s: float, stream: str | None = None, at: Stage | None = None
) -> Bend:
    """When the sender closes, the far side hears of it `delay_s` later."""
    _positive("delay_s", delay_s)
    attributes = {"delay": _ms(delay_s)}
    return Bend(
        link, "slow_close", attributes, f"close {delay_s:g} s late on", stream=stream, at=at
    )


def _ms(seconds: float) -> int:
    return round(seconds * MS_PER_S)


def _positive(name: str, value: float) -> None:
    if value <= 0:
        raise ValueError(f"{name}: expected more than 0, not {value}")
