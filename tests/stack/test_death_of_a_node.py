"""On a live stack: whose death is an event, and whose is only what a fault did."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from random import Random

import pytest

from chaos.contracts import Fault
from chaos.event import Kind, Mark
from faults.failpoint import Crash
from faults.knobs import BadKnob
from faults.process import Freeze, Kill, Restart, Terminate
from stack.embedded_stack import EmbeddedStack
from tests.fakes.heard import Heard
from tests.stack.asking import answers, asking, request
from tests.stack.live import live
from tests.stack.until import until

__all__ = ["live"]


@pytest.fixture
def heard(live: EmbeddedStack) -> Iterator[Heard]:
    listener = Heard()
    live.restart("decode-0", 5.0)  # one that dies young three times is given up
    with live.observe(listener):
        yield listener


def deaths(heard: Heard) -> list[Mark]:
    return [mark for mark in heard.marks if mark.kind is Kind.DIED]


def kill_from_outside(stack: EmbeddedStack, node: str, part: str) -> None:
    os.kill(int(str(stack.pids(node)[part])), signal.SIGKILL)


@pytest.mark.parametrize(
    ("node", "part", "told"),
    [
        ("decode-0", "engine", [("engine", "SIGKILL"), ("front", 71)]),
        ("prefill-0", "front", [("front", "SIGKILL")]),
        ("router", "router", [("main", "SIGKILL")]),
    ],
)
def test_a_process_that_somebody_else_killed_is_told_part_by_part(
    live: EmbeddedStack, heard: Heard, node: str, part: str, told: list[tuple[str, object]]
) -> None:
    until("all is well", live.ready)
    kill_from_outside(live, node, part)
    until("every death is told", lambda: len(deaths(heard)) == len(told))
    until("it is replaced", live.ready)
    seen = [one.detail for one in deaths(heard)]
    assert [(one["part"], one.get("signal", one.get("exit_code"))) for one in seen] == told
    assert {mark.about for mark in deaths(heard)} == {node}


@pytest.mark.parametrize(
    "fault",
    [
        Kill("decode-0"),
        Kill("decode-0", part="engine"),
        Kill("router"),
        Restart("prefill-0"),
        BadKnob("decode-0", {"PDCHAOS_KV_PAGES": "many"}),
    ],
    ids=lambda fault: fault.name,
)
def test_a_death_by_a_fault_is_no_event(live: EmbeddedStack, heard: Heard, fault: Fault) -> None:
    until("all is well", live.ready)
    with fault.inject(live, Random(1)) as proof:
        assert proof.read().bit
    until("all is well", live.ready)
    kill_from_outside(live, "decode-0", "front")  # the next one is told: watching goes on
    until("it is told", lambda: deaths(heard))
    assert [(one.about, one.detail["part"]) for one in deaths(heard)] == [("decode-0", "front")]


def test_a_worker_that_was_told_to_go_is_no_event(live: EmbeddedStack, heard: Heard) -> None:
    until("all is well", live.ready)
    with Terminate("decode-0").inject(live, Random(1)):
        until("it has gone", lambda: not live.pids("decode-0"))
    until("all is well", live.ready)
    assert deaths(heard) == []


def test_a_crash_by_a_failpoint_is_no_event_either(live: EmbeddedStack, heard: Heard) -> None:
    until("all is well", live.ready)
    crash = Crash("decode-0", "decode.step")
    with crash.inject(live, Random(1)), asking(live, request("victim", 64)) as marks:
        assert marks.end("victim")
    until("all is well", live.ready)
    assert deaths(heard) == []
    assert answers(live, "after-victim")


def test_an_engine_that_its_watchdog_ended_is_told(live: EmbeddedStack, heard: Heard) -> None:
    until("all is well", live.ready)
    with Freeze("decode-0", part="engine").inject(live, Random(1)):
        with asking(live, request("victim", 64)) as marks:
            assert marks.end("victim")
        until("its front has ended", lambda: len(deaths(heard)) == 2, within_s=8.0)
    assert [one.detail.get("exit_code") for one in deaths(heard)] == [None, 72]
    guards = [one for one in heard.marks if one.kind is Kind.GUARD and one.about == "decode-0"]
    assert guards[0].detail["guard"] == "step_watchdog"
    assert guards[0].at_ns < deaths(heard)[0].at_ns
