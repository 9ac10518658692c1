"""A router's circuit breaker is a guard: whom it condemns is told by the worker's name."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chaos.clock import ns
from chaos.contracts import Request
from chaos.event import Kind, Mark
from stack.drivers.embedded import EmbeddedDriver
from stack.plan import Plan, RouterTimers
from stack.routers.backends import Backends
from stack.routers.breaker import BREAKER, Pauses, TransitionPage, opened
from stack.routers.smg import Smg
from tests.stack.asking import asking
from tests.stack.page_server import serving
from tests.stack.until import until

PREFILL, DECODE = "http://127.0.0.1:5", "http://127.0.0.1:6"
BACKENDS = Backends(1, 2, {"prefill-0": (PREFILL, 7)}, {"decode-0": DECODE})
# Two run at a time, nobody queues, and ten failures in a row open a breaker.
FULL = {"decode": {"PDCHAOS_MAX_RUNNING": "2"}}
NO_QUEUE = {"PDCHAOS_MAX_QUEUED": "0"}


def smg_line(url: str, was: str, now: str, **more: object) -> str:
    message = f"Circuit breaker state transition: {was} -> {now}"
    told = {"level": "INFO", "message": message, "worker_url": url, "from": was, "to": now}
    return json.dumps({**told, **more})


def told(marks: list[Mark]) -> list[str]:
    return [one.about for one in marks]


def test_smg_s_line_names_the_worker() -> None:
    marks = Smg().log_reader(BACKENDS)
    (opened,) = marks(smg_line(DECODE, "closed", "open"))
    assert (opened.actor, opened.kind, opened.about) == ("router", Kind.GUARD, "decode-0")
    assert opened.detail["guard"] == "router_breaker"
    assert told(list(marks(smg_line(PREFILL, "half_open", "open")))) == ["prefill-0"]


@pytest.mark.parametrize(
    "line",
    [
        smg_line(DECODE, "open", "half_open"),
        smg_line(DECODE, "half_open", "closed"),
        smg_line(DECODE, "closed", "open").replace("worker_url", "url"),
        "Circuit breaker state transition: closed -> open",
        "{Circuit breaker state transition: closed -> open",
        json.dumps({"message": "Success recorded while circuit is open", "worker_url": DECODE}),
    ],
)
def test_a_line_that_names_no_worker_or_that_condemns_nobody_is_no_mark(line: str) -> None:
    assert not Smg().log_reader(BACKENDS)(line)


def page(*turns: tuple[str, str, str, int]) -> bytes:
    """How often each worker's breaker turned from one state to another."""
    return "\n".join(
        f'smg_worker_cb_transitions_total{{worker="{url}",from="{was}",to="{now}"}} {count}'
        for url, was, now, count in turns
    ).encode()


def test_sglang_router_s_page_says_whose_breaker_opened_since_the_last_look() -> None:
    both = (PREFILL, "closed", "open", 1), (DECODE, "closed", "open", 1)
    pages = [
        page(*both),
        page(*both, (DECODE, "open", "half_open", 1), (PREFILL, "half_open", "closed", 1)),
        page(*both, (DECODE, "half_open", "open", 1)),
        page((DECODE, "closed", "open", 1)),
    ]
    with serving(lambda _: (200, pages.pop(0))) as url:
        transitions = TransitionPage(url, BACKENDS.nodes)
        assert told(transitions.opened()) == ["decode-0", "prefill-0"]
        assert transitions.opened() == []
        assert told(transitions.opened()) == ["decode-0"]
        # One that was replaced counts from the beginning.
        assert told(transitions.opened()) == ["decode-0"]


def test_a_turn_whose_worker_cannot_be_read_is_a_hole_in_the_evidence() -> None:
    (lost,) = TransitionPage("http://127.0.0.1:9", {}).opened()
    assert (lost.kind, lost.detail["count"]) == (Kind.LOST, 1)


def test_the_plan_sets_its_pause_and_can_switch_it_off() -> None:
    guard = Plan(timers=RouterTimers(breaker_s=5)).guards["router_breaker"]
    assert (guard.on, guard.value, guard.budget_s) == (True, "5", 6.0)
    command = Smg().command(Plan(timers=RouterTimers(breaker_s=5)), BACKENDS)
    assert "--disable-circuit-breaker" not in command
    assert command[command.index("--cb-timeout-duration-secs") + 1] == "5"
    off = Smg().command(Plan(guards_off=frozenset({"router_breaker"})), BACKENDS)
    assert "--disable-circuit-breaker" in off
    assert "--cb-failure-threshold" not in off


def crowd() -> tuple[Request, ...]:
    """Sixteen at once, of whom a worker for two turns most away."""
    return tuple(Request(f"c{n}", 0.0, f"{n} is one of a crowd " * 4, 120) for n in range(16))


@pytest.mark.parametrize("router", ["smg", "sglang-router"])
def test_honest_refusals_condemn_a_worker_by_name(router: str) -> None:
    """Mostly both of them. One time on smg, after five refusals, only decode was."""
    plan = Plan(router=router, knobs=NO_QUEUE, environment=FULL)
    with EmbeddedDriver(plan).launch() as stack, asking(stack, *crowd()) as marks:
        condemned = marks.wait(
            "a worker is condemned", lambda mark: mark.detail.get("guard") == BREAKER
        )
        assert condemned.about in {"prefill-0", "decode-0"}


@pytest.mark.parametrize("router", ["smg", "sglang-router"])
def test_the_stack_is_not_ready_before_whom_it_condemned_is_asked_again(router: str) -> None:
    plan = Plan(router=router, knobs=NO_QUEUE, environment=FULL)
    with EmbeddedDriver(plan).launch() as stack:
        with asking(stack, *crowd()) as marks:
            for one in crowd():
                marks.end(one.request_id)
            marks.wait("a breaker opened", lambda mark: mark.detail.get("guard") == BREAKER)
        until("the pause is over", stack.ready)
        with asking(stack, Request("after", 0.0, "is anybody there", 4)) as marks:
            assert marks.end("after").kind is Kind.FINISHED


def test_a_pause_is_as_long_as_the_routers_own_and_a_new_router_has_none() -> None:
    opening, pauses = opened("decode-0", "closed", "open"), Pauses(2)
    assert opening is not None
    pauses.hear([replace(opening, detail={"guard": "router_error_reply"})])
    assert pauses.over(opening.at_ns)
    pauses.hear([opening])
    assert not pauses.over(opening.at_ns + ns(1.9))
    assert pauses.over(opening.at_ns + ns(2))
    pauses.forget()
    assert pauses.over(opening.at_ns)


@pytest.mark.parametrize("router", ["smg", "sglang-router"])
def test_without_it_the_same_refusals_condemn_nobody(router: str) -> None:
    off = frozenset({"router_breaker"})
    plan = Plan(router=router, knobs=NO_QUEUE, environment=FULL, guards_off=off)
    with EmbeddedDriver(plan).launch() as stack:
        with asking(stack, *crowd()) as marks:
            ends = [marks.end(one.request_id).kind for one in crowd()]
        assert ends.count(Kind.REFUSED) >= 10
        assert not [one for one in marks.seen if one.detail.get("guard") == "router_breaker"]
        with asking(stack, Request("after", 0.0, "is anybody there", 4)) as marks:
            assert marks.end("after").kind is Kind.FINISHED
