"""The incident: a tuning knob of one kernel, fine for short contexts, hangs the long ones.

The launch script of one decode of two says SGLANG_SM120_MMA_TARGET_CTAS=512. Agents with growing
contexts work on both decodes, and others, whose contexts stay short, ask both again and again.
From which context on the GPU would hang is predicted from the compiled kernel and the split plan,
on any machine, and then met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from chaos.event import Kind
from chaos.experiment import Strike
from chaos.history import History
from chaos.life import Life
from chaos.oracles.signals import firings
from chaos.play import Play
from chaos.specification import Budgets
from chaos.stage import Stage
from chaos.verdict import caught_by
from chaos.workloads.agents import Agents
from chaos.workloads.lone import Lone
from chaos.workloads.together import Together
from faults.knobs import BadKnob
from stack.alerts import KERNEL_CLAMPED
from stack.engine.guards.knob_validation import read_knobs
from stack.engine.kernel_hang import decode_kernel
from stack.engine.shape import Shape

TARGET = "SGLANG_SM120_MMA_TARGET_CTAS"
KERNEL = {"PDCHAOS_EMULATED_GPU": "rtx-pro-6000", "PDCHAOS_SPLIT_COMBINE": "spin_all"}
UNCLAMPED = {"PDCHAOS_SPLIT_CLAMP": "off"}
PROBES = 6  # they go on for longer than it takes to come to the fatal round
DUE_S = 2.0  # a decode that was restarted at once answers again by then
# An interpreted step takes its time, and loading the interpreter stops a worker's heart.
PATIENT = ("PDCHAOS_STEP_TIMEOUT", "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT",
           "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT", "SGLANG_DISAGGREGATION_WAITING_TIMEOUT",
           "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL")  # fmt: skip

two_decodes = pytest.mark.stack(topology="1p2d", environment={"decode": KERNEL})


@pytest.fixture(autouse=True)
def _our_engine(request: pytest.FixtureRequest) -> None:
    """Of a real engine the kernels are its own, and no CPU stages them."""
    if (stack := request.config.getoption("--stack")) != "embedded":
        pytest.skip(f"the kernels that are staged here are the embedded engine's, not {stack}'s")


def long_agent(name: str, key: str) -> Agents:
    return Agents(1, 3, 0.5, 20, prompt_bytes=990, tool_bytes=990, tries_max=1,
                  due_s=DUE_S, called=name, keys=(key,))  # fmt: skip


def short_agent(name: str, key: str) -> Agents:
    """A new probe as soon as the one before was answered, until one is not."""
    return Agents(1, PROBES, 0.6, 4, prompt_bytes=40, tool_bytes=24, tries_max=1,
                  due_s=DUE_S, called=name, keys=(key,))  # fmt: skip


def agents(play: Play) -> Together:
    """`long` and short `near` live on decode-0, and `apart` and short `far` on decode-1."""
    keys = play.keys_on(("decode-0", "decode-1"), 2)
    here, there = keys["decode-0"], keys["decode-1"]
    return Together((
        long_agent("long", here[0]), short_agent("near", here[1]),
        long_agent("apart", there[0]), short_agent("far", there[1]),
    ))  # fmt: skip


def hangs_from(environment: Mapping[str, str]) -> int | None:
    """The shortest context at which a launch of the engine's would not come back on that GPU."""
    knobs = read_knobs({**KERNEL, **environment}, print)
    return decode_kernel(knobs, Shape()).hangs_from(knobs.context_max)


def fatal_launch(agent: Agents, from_context: int) -> tuple[int, int]:
    """The round of this agent that meets such a context, and the context of that very launch.

    The first token of a reply comes from the prefill: the decode's first launch is of the prompt
    and that token, its last one of everything but the last token.
    """
    for index in range(agent.rounds):
        prompt = agent.context_bytes(index)
        if prompt + agent.tokens - 1 >= from_context:
            return index, max(from_context, prompt + 1)
    raise AssertionError(f"no round of {agent.name} comes to {from_context} tokens")


def said(play: Play, words: str) -> str:
    """The last line of decode-0's log with these words."""
    log = play.played[-1].stack.attachments()["decode-0.log"]
    return [line for line in log.splitlines() if words in line][-1]


def answered(history: History, agent: str) -> Sequence[Life]:
    """The rounds of this agent that were answered in full."""
    rounds = [one for one in history.lives.values() if one.request_id.startswith(f"{agent}0.")]
    return [one for one in rounds if one.settled and one.settled.kind is Kind.FINISHED]


def within(one: Life, hung: Life) -> bool:
    """Whether this was sent and answered while the other one hung."""
    assert one.settled is not None
    launched = next(event for event in hung.stages if event.stage is Stage.DECODE)
    return launched.at_ns < one.sent.at_ns and one.settled.at_ns < hung.guards[0].at_ns


@two_decodes
@pytest.mark.decode
@pytest.mark.bad_knob
def test_target_ctas_beyond_what_the_gpu_holds_is_held_back(play: Play) -> None:
    assert hangs_from({TARGET: "512"}) is None
    play(
        agents(play),
        [Strike(BadKnob("decode-0", {TARGET: "512"}, Stage.DECODE), for_s=30.0)],
        alerts=[KERNEL_CLAMPED],
    )
    fired = [one.about for one in firings(play.played[-1].history) if one.alert == "kernel_clamped"]
    assert fired == ["decode-0/sglang:kernel_clamped_total"]
    assert said(play, "held back").startswith(f"{TARGET}=512 is held back to 188 CTAs: spin_all: ")


@two_decodes
@pytest.mark.decode
@pytest.mark.bad_knob
def test_target_ctas_without_the_clamp_hangs_a_later_round_of_agents(play: Play) -> None:
    assert hangs_from({TARGET: "184", **UNCLAMPED}) is None
    hanging = hangs_from({TARGET: "512", **UNCLAMPED})
    assert hanging is not None
    load = agents(play)
    fatal, context = fatal_launch(long_agent("long", ""), hanging)
    assert fatal > 0, "its first round should pass"
    (verdict,) = play(
        load,
        [Strike(BadKnob("decode-0", {TARGET: "512", **UNCLAMPED}, Stage.DECODE), for_s=30.0)],
        allowed=[caught_by("step_watchdog")],  # the incident asked for it: it did not fire
        budgets=Budgets(detect_s=5.5),  # since it was sent, and three thousand tokens travel first
    )
    history = play.played[-1].history
    probes = len(answered(history, "near"))
    assert probes > 0, "before that round a probe of decode-0 should pass"
    assert {f"long0.{fatal}", f"near0.{probes}"} <= set(verdict.about)
    assert len(answered(history, "long")) == fatal
    assert len(answered(history, "apart")) == 3, "just as long, on decode-1"
    hung = history.lives[f"long0.{fatal}"]
    assert any(within(one, hung) for one in answered(history, "far")), "a fresh probe of decode-1"
    plan = said(play, "kernel launched")
    assert f"spin_all: context {context}, batch 1, heads 4, {TARGET}=512, splits 95, " in plan
    assert "grid 190, residency 188: deadlock" in plan


@pytest.mark.stack(knobs=dict.fromkeys(PATIENT, "30"))
@pytest.mark.decode
@pytest.mark.bad_knob
def test_interpreted_kernels_give_the_tokens_of_the_reference(play: Play) -> None:
    knob = {"PDCHAOS_KERNELS": "interpret"}
    play(
        Lone("short", due_s=DUE_S, prompt_bytes=24, tokens=5),
        [
            Strike(BadKnob("prefill-0", knob, Stage.PREFILL), for_s=40.0),
            Strike(BadKnob("decode-0", knob, Stage.DECODE), for_s=40.0),
        ],
        budgets=Budgets(service_s=15.0, settle_s=20.0, converge_s=20.0),
    )
