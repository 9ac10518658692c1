"""Verdicts as plain values, so that they can travel from a parallel worker to the terminal."""

from __future__ import annotations

import json

from chaos.reports.matrix import Judged
from chaos.stage import FaultKind, Stage
from chaos.verdict import Outcome, Verdict


def packed(row: Judged) -> str:
    """A row as JSON."""
    verdict = row.verdict
    return json.dumps(
        {
            "experiment": row.experiment,
            "allowed": row.allowed,
            "known_bug": row.known_bug,
            "unnamed": verdict.unnamed,
            "places": [(stage.value, kind.value) for stage, kind in row.places],
            "strike": verdict.strike,
            "outcome": verdict.outcome.value,
            "reason": verdict.reason,
            "by": verdict.by,
            "after_s": verdict.after_s,
            "stage": verdict.stage,
            "about": verdict.about,
        }
    )


def unpacked(text: str) -> Judged:
    """The row that `packed` wrote. The evidence stays in the history's file."""
    read = json.loads(text)
    verdict = Verdict(
        strike=read["strike"],
        outcome=Outcome(read["outcome"]),
        reason=read["reason"],
        by=read["by"],
        after_s=read["after_s"],
        stage=read["stage"],
        about=tuple(read["about"]),
        unnamed=read["unnamed"],
    )
    places = tuple((Stage(stage), FaultKind(kind)) for stage, kind in read["places"])
    return Judged(
        read["experiment"],
        verdict,
        places,
        allowed=read["allowed"],
        known_bug=read["known_bug"],
    )
