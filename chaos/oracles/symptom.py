"""Owns one thing that an oracle saw, and how many of them make a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.verdict import Answer, Finding

NAMED_MAX = 5  # a sentence that names more is not read


@dataclass(frozen=True, slots=True)
class Symptom:
    about: str  # the request, routing key, resource or node
    reason: str  # half a sentence that follows its name: "ended without [DONE]"
    since_ns: int  # with at_ns: the time in which a strike must have hurt to be charged
    at_ns: int
    evidence: tuple[int, ...] = ()
    by: str | None = None
    node: str | None = None  # the node that it happened to, where it is about one

    def __str__(self) -> str:
        return f"{self.about} {self.reason}"


def sentence(symptoms: Sequence[Symptom]) -> str:
    more = len(symptoms) - NAMED_MAX
    told = "; ".join(str(one) for one in symptoms[:NAMED_MAX])
    return f"{told}; and {more} more" if more > 0 else told


def violated(oracle: str, symptoms: Sequence[Symptom]) -> Finding:
    first = symptoms[0]
    return Finding(
        oracle,
        Answer.VIOLATED,
        sentence(symptoms),
        tuple(sorted({seq for one in symptoms for seq in one.evidence})),
        by=first.by,
        about=tuple(dict.fromkeys(one.about for one in symptoms)),
    )


def holds(oracle: str, reason: str) -> Finding:
    return Finding(oracle, Answer.HOLDS, reason)


def unknown(oracle: str, reason: str, about: tuple[str, ...] = ()) -> Finding:
    return Finding(oracle, Answer.UNKNOWN, reason, about=about)
