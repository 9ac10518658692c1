"""Goal: the run stops polling when everything is back, and not before. Method: by hand."""

from __future__ import annotations

import pytest

from chaos.baseline import Baseline

BASELINE = Baseline({"a/pages": 1.0, "b/pages": 2.0}, {"a/pages": 3.0, "c/pages": 9.0}, 1)


@pytest.mark.parametrize(
    ("now", "back"),
    [
        ({"a/pages": 3.0, "b/pages": 2.0, "c/pages": 9.0}, True),  # the control's is higher for a
        ({"a/pages": 4.0, "b/pages": 2.0, "c/pages": 9.0}, False),
        ({"a/pages": 0.0, "b/pages": 3.0, "c/pages": 9.0}, False),
        ({"a/pages": 0.0, "b/pages": 0.0, "c/pages": 9.1}, False),  # only the control had it
        ({"a/pages": 3.0, "c/pages": 9.0}, False),  # one cannot be read any more
        ({"a/pages": 0.0, "b/pages": 0.0}, False),  # nor one that only the control had
        ({"a/pages": 0.0, "b/pages": 0.0, "c/pages": 0.0, "new/pages": 5.0}, True),  # never read
    ],
)
def test_it_is_back_when_each_resource_that_was_read_is(
    now: dict[str, float],
    back: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert BASELINE.is_back(now) is back


def test_what_is_missing_is_named() -> None:
    assert BASELINE.missing({"b/pages": 0.0}) == ("a/pages", "c/pages")
