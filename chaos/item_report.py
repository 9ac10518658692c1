"""What one test of pytest's tells its report: its verdicts, and what they are to be seen by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.comparison import Expected
from chaos.expected_run import told
from chaos.play import Played
from chaos.reports.allure_report import attach, label
from chaos.reports.matrix import judged
from chaos.reports.rows import packed
from chaos.verdict_terminal import ROWS, UNDECIDED


def keep(item: pytest.Item, expected: Expected, played: Played) -> None:
    comparison = played.comparison
    known = {one.strike for one in comparison.known}
    for row in judged(played.history, played.verdicts):
        strike = row.verdict.strike
        stands = replace(row, allowed=strike not in comparison.red, known_bug=strike in known)
        item.user_properties.append((ROWS, packed(stands)))
    if expected.file is not None:
        item.user_properties.append(
            told(expected.file.path, expected.test, played.keys, comparison.accepted)
        )
    label(played.history)
    attach(played.history, played.verdicts, played.file, played.stack.attachments())


def keep_undecided(item: pytest.Item, played: Played) -> None:
    """It is going to be played again: the report keeps why, and what had been seen."""
    why = "; ".join(dict.fromkeys(one.reason for one in played.comparison.refused))
    item.user_properties.append((UNDECIDED, why))
    attach(played.history, played.verdicts, played.file, {"played again, because": why})
