"""Owns a strike as the history tells it: when it hurt, whether it bit, which nodes it touched.

Who is charged with what happened to a request? Every strike that was active during the request's
life; a strike's time includes its entry, which may take seconds and hurts from its first moment.
When none was active then, the strikes that had ended before are charged together: what they left
behind is theirs. When none had begun, it is nobody's: the stack failed by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.clock import ns
from chaos.event import Event, Json, Kind
from chaos.history import History
from chaos.specification import StrikeSpec


@dataclass(frozen=True, slots=True)
class Blow:
    spec: StrikeSpec
    struck: Event | None
    healed: Event | None
    end_ns: int  # when it was undone; the end of history when it never was

    @property
    def strike(self) -> str:
        return self.spec.strike

    @property
    def bit(self) -> bool:
        proofs = (self.struck, self.healed)
        return any(one is not None and one.detail.get("bit") is True for one in proofs)

    @property
    def began_ns(self) -> int:
        """When entering began: it hurts from here on, though the proof was read later."""
        assert self.struck is not None
        entry_s = self.struck.detail.get("entry_s", 0.0)
        took_s = float(entry_s) if isinstance(entry_s, int | float) else 0.0
        return self.struck.at_ns - ns(took_s)

    def touches(self, node: str) -> bool:
        """By the specification's nodes, else by the proof's `node` or `link`, else by the strike's
        name."""
        if self.spec.nodes:
            return node in self.spec.nodes
        proof = self.struck.detail if self.struck else dict[str, Json]()
        told = proof.get("node", proof.get("link"))
        text = told if isinstance(told, str) else self.strike
        # "prefill-0->decode-0/kv" names both nodes, and "decode-01" is another one.
        return re.search(rf"(?<!\w)(?<!\w-){re.escape(node)}(?!\w)(?!-\w)", text) is not None


def blows(history: History) -> tuple[Blow, ...]:
    """One for each strike that was specified, whether or not it came to happen."""
    struck = {event.about: event for event in history.of(Kind.STRUCK)}
    healed = {event.about: event for event in history.of(Kind.HEALED)}
    return tuple(
        Blow(
            spec,
            struck.get(spec.strike),
            healed.get(spec.strike),
            healed[spec.strike].at_ns if spec.strike in healed else history.end_ns,
        )
        for spec in history.specification.strikes
    )


def charged(of: Sequence[Blow], begin_ns: int, end_ns: int) -> tuple[Blow, ...]:
    """The strikes that what happened between these moments is charged to."""
    begun = tuple(one for one in of if one.struck and one.began_ns <= end_ns)
    return tuple(one for one in begun if one.end_ns >= begin_ns) or begun


def affected_ns(sent_ns: int, end_ns: int, charged_to: Sequence[Blow], settle_ns: int) -> int:
    """From when on an affected request's time counts: it was sent, or struck if that came later.

    A later strike starts the count again only if it came before the count was over: it cannot
    excuse a request that had hung already.
    """
    begin_ns = sent_ns
    struck_ns = sorted(one.struck.at_ns for one in charged_to if one.struck)
    for index, at_ns in enumerate(struck_ns):
        in_time = index == 0 or at_ns <= begin_ns + settle_ns
        if in_time and begin_ns < at_ns <= end_ns:
            begin_ns = at_ns
    return begin_ns
