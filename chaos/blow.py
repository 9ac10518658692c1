"""Owns a strike as the history tells it: when it hurt, whether it bit, and whom it could touch."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from chaos.clock import ns
from chaos.event import Event, Json, Kind
from chaos.history import History
from chaos.life import Life, base_id
from chaos.route import Route
from chaos.specification import StrikeSpec
from chaos.target import Target, targets

NODES = ("nodes", "node", "link")  # where a proof tells what was hit, the most exact first


@dataclass(frozen=True, slots=True)
class Blow:
    spec: StrikeSpec
    struck: Event | None
    healed: Event | None
    began_ns: int | None  # when entering began: it hurts from here on; None: it never began
    end_ns: int  # when it was undone; the end of history when it never was
    targets: tuple[Target, ...]  # empty: nobody told, so it may have hit anything
    request: str | None  # the only request that it hurts, where the proof names one

    @property
    def strike(self) -> str:
        return self.spec.strike

    @property
    def bit(self) -> bool:
        proofs = (self.struck, self.healed)
        return any(one is not None and one.detail.get("bit") is True for one in proofs)

    def touches(self, node: str) -> bool:
        """It is known to have hit this node, or a link of it."""
        return any(one.names(node) for one in self.targets)

    def may_touch(self, life: Life, route: Route) -> bool:
        """Whether it could hurt this request by itself: by the specification's word, else by the
        one request that its proof names, else by the nodes and links that it hit."""
        if self.spec.about:
            name = base_id(life.request_id)
            return any(fnmatchcase(name, one) for one in self.spec.about)
        if self.request is not None:
            return base_id(life.request_id) == base_id(self.request)
        return not self.targets or any(one.may_hit(route) for one in self.targets)


def blows(history: History) -> tuple[Blow, ...]:
    """One for each strike that was specified, whether or not it came to happen."""
    struck = {event.about: event for event in history.of(Kind.STRUCK)}
    healed = {event.about: event for event in history.of(Kind.HEALED)}
    return tuple(
        _blow(spec, struck.get(spec.strike), healed.get(spec.strike), history.end_ns)
        for spec in history.specification.strikes
    )


def _blow(spec: StrikeSpec, struck: Event | None, healed: Event | None, last_ns: int) -> Blow:
    began_ns = None if struck is None else struck.at_ns - ns(_entry_s(struck))
    end_ns = last_ns if healed is None else healed.at_ns
    request = struck.detail.get("request") if struck else None
    only = request if isinstance(request, str) else None
    return Blow(spec, struck, healed, began_ns, end_ns, _targets(spec, struck), only)


def _entry_s(struck: Event) -> float:
    """How long entering took: its proof was read only afterwards."""
    entry_s = struck.detail.get("entry_s", 0.0)
    return float(entry_s) if isinstance(entry_s, int | float) else 0.0


def _targets(spec: StrikeSpec, struck: Event | None) -> tuple[Target, ...]:
    """By the specification's nodes, else by the proof's, else by the strike's name. A fault that
    hits one node of a role knows which only when it strikes: then its proof says so."""
    if spec.nodes:
        return targets(" ".join(spec.nodes)) or tuple(Target((one,)) for one in spec.nodes)
    proof = struck.detail if struck else dict[str, Json]()
    told = (proof.get(name) for name in NODES)
    text = next((one for one in told if isinstance(one, str)), spec.strike)
    return targets(text)
