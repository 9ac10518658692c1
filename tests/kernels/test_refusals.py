"""What a user can get wrong is refused with a message that says what is supported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernels.trials.child import TrialChild


@pytest.fixture(scope="module")
def child() -> Iterator[TrialChild]:
    with TrialChild() as running:
        yield running


def test_every_launcher_refuses_what_it_was_not_written_for(child: TrialChild) -> None:
    refusals = [name for name in child.names if name.startswith("refuses ")]

    reports = [child.run(name) for name in refusals]

    assert len(refusals) > 20
    assert [str(report) for report in reports if not report.holds] == []


def test_a_trial_that_does_not_hold_is_told_apart(child: TrialChild) -> None:
    with pytest.raises(AssertionError, match="crashed with KeyError"):
        child.demand("refuses nothing")
