"""Colours of the reports: dark enough to be read on white, told apart without hue alone."""

from __future__ import annotations

from chaos.event import Kind
from chaos.verdict import Outcome

INK = "#1f2933"
FAINT = "#8a94a0"
GRID = "#e6e9ed"
FAULT = "#f3b33d"
GUARD = "#1d5fbf"
ALERT = "#a2359b"
HUNG = "#c81e3a"

ENDINGS: dict[Kind, str] = {
    Kind.FINISHED: "#2c8a57",
    Kind.REFUSED: "#c56a13",
    Kind.BROKE: "#b3432b",
    Kind.CANCELLED: "#5d7285",
    Kind.SKIPPED: FAINT,
}

GOOD = "#2c8a57"
FAIR = "#b07d10"
BAD = "#c81e3a"
NEUTRAL = "#5d7285"

VERDICTS: dict[Outcome, str] = {
    Outcome.TOLERATED: GOOD,
    Outcome.CAUGHT: GOOD,
    Outcome.SURFACED: FAIR,
    Outcome.FALSE_ALARM: BAD,
    Outcome.LEAKED: BAD,
    Outcome.MISROUTED: BAD,
    Outcome.NOT_RECOVERED: BAD,
    Outcome.WRONG: BAD,
    Outcome.SILENT: BAD,
    Outcome.NO_OP: NEUTRAL,
    Outcome.UNKNOWN: NEUTRAL,
}
