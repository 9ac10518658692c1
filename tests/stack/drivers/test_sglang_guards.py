"""Goal: a real engine claims the guards that it has, with budgets that its knobs give."""

from __future__ import annotations

import pytest

from stack.drivers.sglang import SglangDriver
from stack.drivers.sglang_guards import KNOBS, SLACK_S, guards, settings
from stack.plan import Plan


def test_a_timed_guard_must_act_within_its_knob_and_the_slack() -> None:
    waiting = guards(Plan())["waiting_timeout"]
    assert waiting.knob == "SGLANG_DISAGGREGATION_WAITING_TIMEOUT"
    assert waiting.budget_s == float(KNOBS[waiting.knob]) + SLACK_S


def test_it_claims_no_guard_that_only_the_embedded_engine_has() -> None:
    claimed = guards(Plan())
    assert {"bootstrap_timeout", "heartbeat_to_prefill", "router_error_reply"} <= set(claimed)
    assert not {"step_watchdog", "prefill_inflight_watchdog", "knob_validation"} & set(claimed)


def test_the_router_s_guards_are_the_plan_s() -> None:
    off = Plan(guards_off=frozenset({"sticky_sessions"}))
    assert not guards(off)["sticky_sessions"].on
    assert guards(Plan())["sticky_sessions"].on


def test_a_guard_of_the_engine_cannot_be_switched_off() -> None:
    with pytest.raises(ValueError, match="cannot be switched off: step_watchdog"):
        SglangDriver(Plan(guards_off=frozenset({"step_watchdog", "sticky_sessions"})))


def test_a_node_s_own_setting_wins_over_its_role_s_and_over_ours() -> None:
    knob = "SGLANG_DISAGGREGATION_WAITING_TIMEOUT"
    plan = Plan(environment={"decode": {knob: "5"}, "decode-0": {knob: "6"}})
    assert settings(plan, "decode-0")[knob] == "6"
    assert settings(Plan(environment={"decode": {knob: "5"}}), "decode-0")[knob] == "5"
    assert settings(plan, "prefill-0")[knob] == KNOBS[knob]
