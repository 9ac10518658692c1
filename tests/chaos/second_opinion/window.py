"""When a strike hurt, whether it took effect, and whom it could touch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.clock import ns
from chaos.event import Event, Kind
from chaos.specification import Specification, StrikeSpec
from tests.chaos.second_opinion.asked import Asked

NODE = re.compile(r"router|(?:prefill|decode)-\d+")


@dataclass(frozen=True, slots=True)
class Window:
    """A strike that began."""

    name: str
    spec: StrikeSpec
    began_ns: int
    entered_ns: int
    healed_ns: int
    bit: bool  # its proof, read on entry and before undoing, shows the effect

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.spec.nodes or tuple(NODE.findall(self.name))

    def hits(self, node: str) -> bool:
        """It hurts that node itself, or one of its links."""
        return node in self.nodes

    def could_touch(self, one: Asked) -> bool:
        """A link is passed only by who passes both of its ends; any node will do otherwise."""
        if not self.nodes:
            return True
        reached = [one.may_have_been_on(node) for node in self.nodes]
        return all(reached) if "->" in self.name else any(reached)


def windows(events: Sequence[Event], specification: Specification) -> list[Window]:
    """The strikes that began, in the order in which they did.

    The proof is read on entry and before undoing: one of the two must show the effect.
    """
    found: list[Window] = []
    for spec in specification.strikes:
        own = [e for e in events if e.about == spec.strike]
        struck = [e for e in own if e.kind is Kind.STRUCK]
        healed = [e for e in own if e.kind is Kind.HEALED]
        if not struck:
            continue
        bit = any(e.detail.get("bit") is True for e in struck + healed)
        entry_s = struck[0].detail.get("entry_s")
        began_ns = struck[0].at_ns - ns(entry_s if isinstance(entry_s, int | float) else 0.0)
        end_ns = healed[0].at_ns if healed else events[-1].at_ns
        found.append(Window(spec.strike, spec, began_ns, struck[0].at_ns, end_ns, bit))
    return sorted(found, key=lambda one: one.began_ns)
