"""A row that travels from a parallel worker to the terminal is the same row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.reports.matrix import Judged, judged
from chaos.reports.rows import packed, unpacked
from chaos.verdict import Outcome, Verdict
from tests.chaos.reports.hand_written import hung


@pytest.mark.parametrize("outcome", Outcome, ids=lambda one: one.name)
def test_all_but_the_evidence_arrives(outcome: Outcome) -> None:
    history, verdict = hung()
    (row,) = judged(history, [replace(verdict, outcome=outcome, by="a guard")])
    assert row.verdict.evidence != ()
    bare = replace(row, verdict=replace(row.verdict, evidence=()))
    assert unpacked(packed(row)) == bare


def test_a_fault_free_row_arrives() -> None:
    row = Judged("test_free", Verdict("fault-free", Outcome.TOLERATED, "fine"), allowed=False)
    assert unpacked(packed(row)) == row
