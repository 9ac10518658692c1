"""Goal: a promise that cannot be kept is refused when it is written. Method: bad values."""

from __future__ import annotations

import pytest

from chaos.specification import Alert, Budgets


def test_a_bound_must_be_positive() -> None:
    with pytest.raises(ValueError, match="a bound must be positive: settle_s=0"):
        Budgets(settle_s=0)


def test_a_run_must_watch_as_long_as_it_takes_to_call_a_request_hung() -> None:
    with pytest.raises(ValueError, match="we would stop watching before"):
        Budgets(settle_s=6.0, converge_s=5.9)
    assert Budgets(settle_s=6.0, converge_s=6.0).converge_s == 6.0


def test_an_alert_with_an_unknown_comparison_is_refused() -> None:
    with pytest.raises(ValueError, match="alert a: unknown op '!='"):
        Alert("a", "*", "!=")
