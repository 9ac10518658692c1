"""Goal: an alert fires when it was said to, and a daily cry does not count. Method: by hand."""

from __future__ import annotations

import pytest

from chaos.oracles.signals import AlertsAreEvaluated, crying, firings
from chaos.specification import Alert
from chaos.verdict import Answer
from tests.chaos.table import BEGIN_NS, history

ORACLE = AlertsAreEvaluated()
HIGH = Alert("high", "prefill-*/inflight", ">", 2.0, for_s=0.5)


def readings(*samples: tuple[float, float], about: str = "prefill-0/inflight") -> str:
    return "\n".join(f"{at_s} signal reading {about} value={value}" for at_s, value in samples)


def moments(table: str, alert: Alert) -> list[float]:
    told = firings(history(table, alerts=[alert]))
    return [(one.at_ns - BEGIN_NS) / 1e9 for one in told]


def test_it_fires_when_the_condition_held_long_enough_and_once_per_run_of_samples() -> None:
    table = readings((1.0, 3), (1.2, 3), (1.5, 3), (1.7, 3), (2.0, 0), (3.0, 9), (3.5, 9))
    assert moments(table, HIGH) == [1.5, 3.5]


def test_it_does_not_fire_when_one_sample_in_between_was_well() -> None:
    assert moments(readings((1.0, 3), (1.3, 2), (1.5, 3)), HIGH) == []


@pytest.mark.parametrize(
    ("op", "value", "fires"),
    [
        ("<", 1.9, True),
        ("<", 2, False),
        ("<=", 2, True),
        ("<=", 2.1, False),
        ("==", 2, True),
        ("==", 3, False),
        (">=", 2, True),
        (">=", 1.9, False),
        (">", 2.1, True),
        (">", 2, False),
    ],
)
def test_each_comparison_means_what_it_says(op: str, value: float, fires: bool) -> None:  # noqa: FBT001 - a row of the table
    alert = Alert("one", "prefill-0/inflight", op, 2.0, for_s=0.5)
    table = readings((1.0, value), (1.5, value))
    assert bool(moments(table, alert)) is fires


def test_a_pinned_gauge_fires_and_a_rotating_one_does_not() -> None:
    pinned = Alert("pinned", "prefill-0/inflight", "pinned", for_s=0.5)
    assert moments(readings((1.0, 1), (1.3, 1), (1.5, 1)), pinned) == [1.5]
    assert moments(readings((1.0, 1), (1.3, 2), (1.5, 1)), pinned) == []
    assert moments(readings((1.0, 0), (1.3, 0), (1.5, 0)), pinned) == []
    assert moments(readings((1.0, 1), (1.3, 2), (1.6, 2), (1.8, 2)), pinned) == [1.8]
    blind = "\n1.3 signal unreadable prefill-0/inflight"  # nobody knows what it was meanwhile
    assert moments(readings((1.0, 1), (1.5, 1)) + blind, pinned) == []


def test_what_is_read_from_the_moment_of_recovery_on_is_no_alert() -> None:
    table = readings((1.0, 3), (1.5, 3))
    assert moments(f"{table}\n1.51 run phase recover", HIGH) == [1.5]
    assert moments(f"1.5 run phase recover\n{table}", HIGH) == []


def test_a_probe_that_cannot_read_for_long_enough_fires_unreadable() -> None:
    alert = Alert("blind", "decode-*", "unreadable", for_s=1.0)
    gone = "1.0 signal unreadable decode-0\n 2.0 signal unreadable decode-0"
    assert moments(gone, alert) == [2.0]
    answered = f"{gone}\n 1.5 signal reading decode-0/x value=1 probe=decode-0"
    assert moments(answered, alert) == []


def test_a_resource_is_no_signal_and_the_recovery_is_not_watched() -> None:
    resource = "1.0 resource reading prefill-0/inflight value=3\n"
    resource += "2.0 resource reading prefill-0/inflight value=3"
    assert moments(resource, HIGH) == []
    late = "0.5 run phase recover\n" + readings((1.0, 3), (1.5, 3))
    assert moments(late, HIGH) == []


def test_an_alert_that_fires_in_the_control_cries_every_day() -> None:
    table = readings((1.0, 3), (1.5, 3))
    assert crying(history(table, control=table, alerts=[HIGH])) == {"high"}
    assert crying(history(table, control=readings((1.0, 0)), alerts=[HIGH])) == frozenset()


def test_it_holds_and_says_which_alerts_fired() -> None:
    finding = ORACLE.judge(history(readings((1.0, 3), (1.5, 3)), alerts=[HIGH]))
    assert (finding.answer, finding.reason) == (Answer.HOLDS, "fired: high, of 1")


def test_without_alerts_nothing_is_judged() -> None:
    assert ORACLE.judge(history(readings((1.0, 3)))).answer is Answer.UNKNOWN


def test_an_alert_that_had_nothing_to_look_at_proves_nothing() -> None:
    finding = ORACLE.judge(history(readings((1.0, 3), about="decode-0/inflight"), alerts=[HIGH]))
    assert finding.answer is Answer.UNKNOWN
    assert finding.about == ("high",)


def test_a_condition_that_was_cut_off_before_its_time_did_not_fire() -> None:
    assert moments(readings((1.0, 3), (1.49, 3)), HIGH) == []


def test_an_alert_sees_its_reading_among_others() -> None:
    table = readings((1.0, 3), (1.5, 3)) + "\n" + readings((1.0, 0), about="decode-0/other")
    assert ORACLE.judge(history(table, alerts=[HIGH])).answer is Answer.HOLDS


def test_a_reading_is_not_told_again_under_its_probes_name() -> None:
    table = readings((1.0, 3), (1.5, 3)).replace("value", "probe=prefill-0/page value")
    told = firings(history(table, alerts=[Alert("high", "prefill-0/*", ">", 2.0, for_s=0.5)]))
    assert [one.about for one in told] == ["prefill-0/inflight"]


def test_a_firing_says_until_when_it_held() -> None:
    table = readings((1.0, 3), (1.5, 3), (2.0, 0), (3.0, 9), (3.5, 9), (4.0, 9))
    first, second = firings(history(table, alerts=[HIGH]))
    assert (first.until_ns, second.until_ns) == (BEGIN_NS + 2_000_000_000, None)
