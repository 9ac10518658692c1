"""A random history by its number: small, whole, and the same on every machine."""

from __future__ import annotations

from chaos.history import History
from chaos.seed import source
from tests.chaos.second_opinion.draft import BEGIN_NS, Draft
from tests.chaos.second_opinion.load import draw_load
from tests.chaos.second_opinion.surroundings import (
    draw_holes,
    draw_phases,
    draw_signals,
    draw_strikes,
)

LONG_S = 32.0  # longer than any request is waited for
SHORT_S = 0.5  # after all that happened: then who still waits has not been waited for long enough


def drawn(seed: int, number: int) -> History:
    draft = Draft(source(seed, f"second opinion/{number}"))
    draft.concurrency = draft.rng.choice((1, 1, 2))
    draw_strikes(draft)
    draw_load(draft)
    last_s = (max(one.at_ns for one in draft.run) - BEGIN_NS) / 1e9
    draft.recover_s = LONG_S if draft.chance(92) else round(last_s + SHORT_S, 3)
    draw_signals(draft)
    draw_phases(draft)
    draw_holes(draft)
    return draft.history()
