"""The plan: bad input is refused with one clear line, and every guard has a budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.specification import Budgets
from stack.guard_settings import GUARDS, guards_set_by
from stack.plan import Plan, RouterTimers, Topology


@pytest.mark.parametrize("text", ["1p1d", "1p2d", "2p2d", "12p3d"])
def test_a_topology_reads_back_as_it_was_written(text: str) -> None:
    assert str(Topology.parse(text)) == text


@pytest.mark.parametrize("text", ["0p1d", "1p0d", "abc", "", "1p", "1d1p", "1p1d2", "-1p1d"])
def test_a_topology_without_both_roles_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="topology: expected like") as refused:
        Topology.parse(text)
    assert "\n" not in str(refused.value)


def test_a_bigger_topology_holds_a_smaller_one_and_not_the_other_way_round() -> None:
    assert Topology(2, 2).holds(Topology(1, 2))
    assert not Topology(2, 1).holds(Topology(1, 2))


def test_an_unknown_guard_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"unknown step_watchdg \(the nearest is step_watchdog\); known"
    ):
        Plan(guards_off=frozenset({"step_watchdg"}))


@pytest.mark.parametrize("fixed", ["router_stream_failure", "router_error_reply"])
def test_a_guard_without_a_switch_cannot_be_planned_off(fixed: str) -> None:
    with pytest.raises(ValueError, match=f"guards_off: unknown {fixed}"):
        Plan(guards_off=frozenset({fixed}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"router": "nginx"}, "router: unknown nginx; known are: smg, sglang-router"),
        ({"attempts": 0}, "tried at least once"),
        ({"slack_s": 0.0}, "slack_s must be positive"),
        ({"environment": {"decode-7": {}}}, "environment: unknown decode-7"),
        ({"knobs": {"PDCHAOS_STEP_TIMEOUT": "soon"}}, "must be a number of seconds, not 'soon'"),
        ({"knobs": {"PDCHAOS_STEP_TIMEOUT": "-1"}}, "must be positive"),
        (
            {"knobs": {"PDCHAOS_STEP_TIME": "1"}},
            r"knobs: unknown PDCHAOS_STEP_TIME \(the nearest is PDCHAOS_STEP_TIMEOUT\); known",
        ),
        (
            {"environment": {"decode": {"PDCHAOS_KV_PAGE": "9"}}},
            "environment of decode: PDCHAOS_KV_PAGE: nobody reads .* PDCHAOS_KV_PAGES",
        ),
    ],
)
def test_a_bad_value_is_refused_before_anything_starts(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Plan(**arguments)  # pyright: ignore[reportArgumentType] - wrong on purpose


def test_router_timers_are_whole_positive_seconds() -> None:
    with pytest.raises(ValueError, match="health_interval_s=0"):
        RouterTimers(health_interval_s=0)


def test_every_guard_acts_within_seconds_and_not_at_once() -> None:
    budgets = {name: guard.budget_s for name, guard in Plan().guards.items()}
    assert set(budgets) == set(GUARDS)
    # Beyond settle_s nobody waits for a guard any more; a drain's clock begins with its strike.
    assert budgets.pop("drain") < Budgets().converge_s
    assert all(1.0 <= budget < Budgets().settle_s for budget in budgets.values()), budgets


def test_a_guard_s_budget_follows_its_knob() -> None:
    usual = Plan().guards["prefill_inflight_watchdog"].budget_s
    plan = Plan(knobs={"PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "0.5"})
    assert plan.guards["prefill_inflight_watchdog"].budget_s == pytest.approx(usual - 1.6)
    assert plan.node_environment("prefill-0")["PDCHAOS_PREFILL_INFLIGHT_TIMEOUT"] == "0.5"


def test_guards_that_are_off_reach_the_workers_by_name_and_the_router_s_do_not() -> None:
    off = frozenset({"step_watchdog", "page_quarantine", "router_health"})
    plan = Plan(guards_off=off)
    told = plan.node_environment("decode-0")["PDCHAOS_GUARDS_OFF"]
    assert told == "page_quarantine,step_watchdog"
    assert {name for name, guard in plan.guards.items() if not guard.on} == off


def test_a_node_s_own_environment_wins_over_its_role_s() -> None:
    plan = Plan(
        topology=Topology(1, 2),
        environment={"decode": {"A": "role", "B": "role"}, "decode-1": {"A": "node"}},
    )
    assert plan.node_environment("decode-1")["A"] == "node"
    assert plan.node_environment("decode-1")["B"] == "role"
    assert plan.node_environment("decode-0")["A"] == "role"
    assert "A" not in plan.node_environment("prefill-0")


def test_equal_plans_are_one_key_and_different_ones_are_two() -> None:
    one = Plan(environment={"decode": {"A": "1", "B": "2"}})
    same = Plan(environment={"decode": {"B": "2", "A": "1"}})
    assert len({one, same, Plan(seed=1)}) == 2


def test_a_printed_plan_shows_every_guard_with_knob_and_budget() -> None:
    text = str(Plan(guards_off=frozenset({"step_watchdog"})))
    assert "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT=2.1" in text
    assert all(name in text for name in GUARDS)
    off = [line for line in text.splitlines() if " OFF " in line]
    assert len(off) == 1
    assert "step_watchdog" in off[0]


def test_the_engine_knows_every_guard_and_knob_that_the_plan_sets() -> None:
    from stack.engine import knobs  # noqa: PLC0415 - the table imports no torch

    engine = {
        name for name, setting in GUARDS.items() if not setting.of_router and not setting.fixed
    }
    assert engine == set(knobs.GUARDS)
    table = {knob.env: knob for knob in knobs.TABLE.values()}
    for name, value in Plan().settings().items():
        table[name].parse(value)
        assert set(guards_set_by(name)) <= set(table[name].guards)


# Two guards that can act on the same stall, who sees the cause first.
CAUSE_AND_SYMPTOM = [
    ("heartbeat_to_prefill", "step_watchdog"),
    ("heartbeat_to_decode", "step_watchdog"),
    ("heartbeat_to_decode", "prefill_inflight_watchdog"),
    ("heartbeat_to_decode", "bootstrap_timeout"),
    ("heartbeat_to_prefill", "waiting_timeout"),
    ("step_watchdog", "bootstrap_timeout"),
    ("step_watchdog", "waiting_timeout"),
    ("prefill_inflight_watchdog", "waiting_timeout"),
    ("bootstrap_timeout", "waiting_timeout"),
    ("waiting_timeout", "drain"),
]


@pytest.mark.parametrize(("cause", "symptom"), CAUSE_AND_SYMPTOM)
def test_who_sees_the_cause_acts_before_who_sees_the_symptom_by_more_than_the_slack(
    cause: str, symptom: str
) -> None:
    """So that a verdict names the cause, and a timer that listens to the wrong variable is late."""
    plan = Plan()
    times = {}
    for name in (cause, symptom):
        setting = replace(GUARDS[name], factor=1.0)
        times[name] = setting.budget_s(name, plan.settings())
    assert times[symptom] - times[cause] > plan.slack_s


def test_no_two_timers_of_an_engine_are_of_one_length() -> None:
    lengths = {s.knob: s.budget_s(n, Plan().settings()) for n, s in GUARDS.items() if s.factor}
    assert len(set(lengths.values())) == len(lengths)
