"""The embedded stack: it answers, it can be hurt and looked at, and it comes back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from chaos.contracts import Armable, Freezable, Killable, Linked, Probe, Tunable, Unreadable
from chaos.event import Kind, Mark
from chaos.failpoint import Failpoint
from chaos.stage import Stage
from stack.drivers.embedded import EmbeddedDriver
from stack.embedded_stack import EmbeddedStack
from stack.ground import shared_ground
from stack.guardian import ROOT
from stack.node_process import NodeFailed
from stack.page import fetch
from stack.plan import Plan, Topology
from stack.process_table import ProcessId
from tests.stack.asking import answers, asking, request
from tests.stack.live import live
from tests.stack.until import until

__all__ = ["live"]
RESTART_S = 10.0


def readings(probes: Sequence[Probe]) -> dict[str, float]:
    return {one.name: one.value for probe in probes for one in probe.read()}


def routed(stack: EmbeddedStack) -> bool:
    """Whether the router has all its workers again."""
    return fetch(f"{stack.nodes[0].url}", "/readiness").status == 200


def healthy(stack: EmbeddedStack, node: int) -> bool:
    try:
        return fetch(stack.nodes[node].url, "/health").status == 200
    except Unreadable:
        return False


def test_a_request_passes_every_stage_on_both_nodes_in_order(live: EmbeddedStack) -> None:
    with asking(live, request("whole")) as marks:
        end = marks.end("whole")
        cleanup = [Stage.CLEANUP, "decode-0"]
        marks.wait("cleanup", lambda m: [m.stage, m.actor] == cleanup and m.about == "whole")
    assert end.kind is Kind.FINISHED
    stages = [m for m in marks.seen if m.kind is Kind.STAGE and m.about == "whole"]
    on = {node: [m.stage for m in stages if m.actor == node] for node in ("prefill-0", "decode-0")}
    assert on["decode-0"][0] is Stage.INTAKE
    assert {Stage.BOOTSTRAP, Stage.TRANSFER, Stage.HANDOVER, Stage.STREAM} <= set(on["decode-0"])
    assert {Stage.PREFILL, Stage.TRANSFER, Stage.HANDOVER} <= set(on["prefill-0"])
    assert len({m.attempt for m in stages if m.attempt is not None}) == 1


def test_it_has_every_ability_and_the_links_of_the_plan(live: EmbeddedStack) -> None:
    for ability in (Killable, Freezable, Linked, Armable, Tunable):
        assert isinstance(live, ability)
    assert set(live.links) == {
        "client->router",
        "router->prefill-0",
        "router->decode-0",
        "decode-0->prefill-0/bootstrap",
        "prefill-0->decode-0/kv",
    }
    assert [node.name for node in live.nodes] == ["router", "prefill-0", "decode-0"]


def test_signals_have_the_names_that_alerts_look_for(live: EmbeddedStack) -> None:
    seen = readings(live.signals)
    assert seen["router/smg_worker_health{prefill-0}"] == 1.0
    assert seen["router/smg_worker_health{decode-0}"] == 1.0
    assert seen["decode-0/health"] == 200.0
    queues = {
        "prefill-0/sglang:num_prefill_inflight_queue_reqs",
        "prefill-0/sglang:num_prefill_bootstrap_queue_reqs",
        "decode-0/sglang:num_decode_transfer_queue_reqs",
    }
    assert queues <= set(seen)
    until("all are empty", lambda: not any(readings(live.signals)[name] for name in queues))


def test_resources_of_an_idle_stack_return_to_where_they_were(live: EmbeddedStack) -> None:
    assert answers(live, "warm")
    until("it is idle", lambda: readings(live.resources)["decode-0/sglang:num_open_reqs"] == 0)
    before = readings(live.resources)
    assert answers(live, "again")

    def more() -> dict[str, float]:
        now = readings(live.resources)
        # The router's threads and its idle connections grow with the load and stay; so does a
        # process's memory, by a few pages: what grows again and again is told by repetition.
        names = [name for name in before if name.split("/")[0] != "router"]
        grows = ("established", "resident_bytes")
        names = [name for name in names if not any(word in name for word in grows)]
        return {name: now[name] - before[name] for name in names if now[name] > before[name]}

    assert {"decode-0/fds", "decode-0/threads", "decode-0/sglang:kv_used_pages"} <= set(before)
    until("everything is back", lambda: not more())


def test_a_request_at_a_dead_worker_is_ended_by_the_router_with_its_guard_named(
    live: EmbeddedStack,
) -> None:
    with asking(live, request("cut", tokens=2000)) as marks:
        marks.wait("its stream", lambda m: m.about == "cut" and m.stage is Stage.STREAM)
        live.kill("decode-0")
        assert live.pids("decode-0") == {}
        end = marks.end("cut")
        guard = marks.wait("the guard", lambda m: m.kind is Kind.GUARD and m.about == "cut")
        live.restart("decode-0", RESTART_S)
    assert end.kind in {Kind.BROKE, Kind.REFUSED}
    assert guard.actor == "router"
    assert guard.detail["guard"] in {"router_stream_failure", "router_error_reply"}
    until("it is routed to again", lambda: routed(live))
    assert answers(live, "after-kill")


@pytest.mark.parametrize("how", ["signal", "cgroup"])
def test_a_frozen_worker_is_unreadable_and_answers_again_when_thawed(
    live: EmbeddedStack, how: str
) -> None:
    states = live.freeze("decode-0", "whole", how)
    try:
        assert set(states.values()) == {"T" if how == "signal" else "FROZEN"}
        assert len(states) == 2  # the front and its engine
        frozen = [probe for probe in live.signals if probe.name.startswith("decode-0/")]
        for probe in frozen:
            with pytest.raises(Unreadable):
                probe.read()
    finally:
        live.thaw("decode-0", "whole", how)
    until("its page is read again", lambda: healthy(live, 2))


def test_a_front_answers_while_its_engine_is_frozen(live: EmbeddedStack) -> None:
    states = live.freeze("prefill-0", "engine", "signal")
    try:
        assert list(states.values()) == ["T"]
        assert str(live.pids("prefill-0")["front"]) not in states
        assert fetch(live.nodes[1].url, "/health", 1.0).status in {200, 503}
    finally:
        live.thaw("prefill-0", "engine", "signal")


def test_a_failpoint_holds_its_request_and_lets_it_go(live: EmbeddedStack) -> None:
    until("it is routed to", lambda: routed(live))
    hold = Failpoint("stream.chunk", "hold", "held")
    with live.arm("decode-0", hold) as proof:
        assert not proof.read().bit
        with asking(live, request("held"), request("free")) as marks:
            assert marks.end("free").kind is Kind.FINISHED
            until("it is held", lambda: proof.read().bit)
            assert not [m for m in marks.seen if m.about == "held" and m.kind is Kind.FINISHED]
    assert answers(live, "after-hold")


def test_a_process_that_the_kernel_takes_down_has_crashed(
    live: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its front tells of its end some milliseconds before it is a zombie."""
    crash = Failpoint("decode.step", "crash", "nobody")
    with live.arm("decode-0", crash) as proof:
        assert not proof.read().bit
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(ProcessId, "exiting", True)
            assert proof.read().bit
        assert not proof.read().bit


def test_a_crash_is_proven_and_the_worker_is_replaced_in_place(live: EmbeddedStack) -> None:
    before = live.pids("decode-0")
    crash = Failpoint("decode.step", "crash", times=1)
    with live.arm("decode-0", crash) as proof, asking(live, request("boom", 400)) as marks:
        assert marks.end("boom").kind in {Kind.BROKE, Kind.REFUSED}
        until("the crash is proven", lambda: proof.read().bit)
    until("it is replaced", lambda: live.pids("decode-0") not in ({}, before))
    until("it answers", lambda: healthy(live, 2))
    until("it is routed to again", lambda: routed(live))
    assert answers(live, "after-crash")


def test_a_knob_is_read_back_and_the_plan_s_returns(live: EmbeddedStack) -> None:
    with live.retune("decode-0", {"PDCHAOS_MAX_RUNNING": "3"}, RESTART_S) as proof:
        assert proof.read().bit
        assert proof.read().detail["PDCHAOS_MAX_RUNNING"] == 3
        assert "PDCHAOS_MAX_RUNNING=3" in live.attachments()["decode-0.env"]
    assert "PDCHAOS_MAX_RUNNING=64" in live.attachments()["decode-0.env"]


def test_a_worker_that_refuses_a_knob_is_its_own_proof_and_comes_back(
    live: EmbeddedStack,
) -> None:
    knob = {"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "soon"}
    with live.retune("decode-0", knob, RESTART_S) as proof:
        evidence = proof.read()
        assert evidence.bit
        assert evidence.detail["exit_code"] == 2
        assert "soon" in str(evidence.detail["last_words"])
    assert fetch(live.nodes[2].url, "/health").status == 200


def test_a_router_is_killed_and_comes_back_with_all_its_workers(live: EmbeddedStack) -> None:
    live.kill("router")
    live.restart("router", RESTART_S)
    assert routed(live)
    assert answers(live, "after-router")


def test_workers_are_born_again_after_their_zygote_died(live: EmbeddedStack) -> None:
    zygote = shared_ground().nursery.process
    before = [live.pids(name) for name in ("prefill-0", "decode-0")]
    zygote.signal(9)
    until("another zygote is there", lambda: shared_ground().nursery.process != zygote)
    for node in (1, 2):
        until("it answers", lambda node=node: healthy(live, node), 60.0)
    assert not [one for one in before if one in (live.pids("prefill-0"), live.pids("decode-0"))]
    until("it is routed to again", lambda: routed(live))
    assert answers(live, "after-zygote")


def test_attachments_show_logs_and_no_secret(live: EmbeddedStack) -> None:
    texts = live.attachments()
    assert {"plan", "router.log", "decode-0.log", "prefill-0.env"} <= set(texts)
    assert "whole" in texts["router.log"] or "after" in texts["router.log"]
    assert "admin_token" not in "".join(texts.values())


def test_a_node_that_is_not_there_is_refused_with_those_that_are(live: EmbeddedStack) -> None:
    with pytest.raises(ValueError, match="there are: router, prefill-0, decode-0"):
        live.kill("decode-9")
    with (
        pytest.raises(ValueError, match="router has no failpoints"),
        live.arm("router", Failpoint("decode.step", "hold")),
    ):
        pass
    with pytest.raises(ValueError, match="expected 'whole' or a worker's 'engine'"):
        live.freeze("router", "engine", "signal")


def test_a_plan_that_a_worker_refuses_fails_with_its_last_words_and_leaves_nothing() -> None:
    plan = Plan(environment={"decode": {"PDCHAOS_KV_PAGES": "none"}})
    refused = pytest.raises(NodeFailed, match=r"decode-0 exited with code 2[\s\S]*PDCHAOS_KV_PAGES")
    with refused, EmbeddedDriver(plan).launch():
        pass


@pytest.mark.parametrize("router", ["smg", "sglang-router"])
def test_both_routers_serve_two_of_each_role(router: str) -> None:
    with EmbeddedDriver(Plan(topology=Topology(2, 2), router=router)).launch() as stack:
        assert len(stack.links) == 1 + 4 + 4 + 4
        for number in range(3):
            assert answers(stack, f"{router}-{number}")


def test_the_process_that_has_the_stack_imports_neither_torch_nor_the_engine_core() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import stack.drivers.embedded, faults.process, faults.knobs, faults.failpoint\n"
        "bad = {'torch', 'stack.engine.worker', 'stack.engine.front', 'stack.engine.model'}\n"
        "sys.exit(' '.join(bad & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=60)


def test_a_mark_of_the_router_s_log_reaches_every_observer(live: EmbeddedStack) -> None:
    heard: list[Mark] = []
    error = Failpoint("leg.answer", "error", "refused")
    armed, observed = live.arm("decode-0", error), live.observe(heard.append)
    with armed, observed, asking(live, request("refused")) as marks:
        assert marks.end("refused").kind is Kind.REFUSED
        marks.wait("the guard", lambda m: m.detail.get("guard") == "router_error_reply")
    assert "refused" in [m.about for m in heard if m.actor == "router"]
