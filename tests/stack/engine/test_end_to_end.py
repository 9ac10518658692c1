"""One pair on real sockets: requests, guards and failpoints as a router would meet them."""

import os
import signal
from concurrent.futures import wait
from pathlib import Path

import pytest

from chaos.event import Kind
from chaos.stage import Stage
from tests.stack.engine.conftest import PATIENT, NewPair
from tests.stack.engine.leg import Caller, Stream
from tests.stack.engine.pair import BOUND_S, Pair, until

PROMPT = "a prompt of several pages, so that there is something to push " * 4


def test_a_reply_is_the_same_alone_and_in_company(patient_pair: Pair) -> None:
    alone = [patient_pair.ask(f"alone-{n}", f"{n} {PROMPT}")[1].reply for n in range(6)]
    bodies = [patient_pair.body(f"{n} {PROMPT}", 8) for n in range(6)]
    legs = [
        (
            patient_pair.leg(patient_pair.prefill, f"many-{n}", body),
            patient_pair.leg(patient_pair.decode, f"many-{n}", body),
        )
        for n, body in enumerate(bodies)
    ]
    assert [decode.result(BOUND_S).reply for _, decode in legs] == alone
    assert len(set(alone)) == 6


def test_decode_never_computes_a_prompt(patient_pair: Pair) -> None:
    patient_pair.ask("received", PROMPT)
    assert patient_pair.decode.figure("computed_prompt_tokens_total") == 0
    assert patient_pair.prefill.figure("computed_prompt_tokens_total") > 0
    assert patient_pair.decode.figure("kv_pages_received_total") > 0


def test_every_stage_of_both_sides_is_marked_in_order(patient_pair: Pair) -> None:
    patient_pair.ask("marked", PROMPT, stream=True)
    until(lambda: Stage.ENDING in _stages(patient_pair, "decode-0", "marked"), "its end")
    until(lambda: Stage.CLEANUP in _stages(patient_pair, "decode-0", "marked"), "its pages freed")
    until(lambda: Stage.CLEANUP in _stages(patient_pair, "prefill-0", "marked"), "its pages freed")
    assert _stages(patient_pair, "prefill-0", "marked") == [
        Stage.INTAKE,
        Stage.BOOTSTRAP,
        Stage.PREFILL,
        Stage.TRANSFER,
        Stage.HANDOVER,
        Stage.CLEANUP,
    ]
    wanted = [Stage.INTAKE, Stage.BOOTSTRAP, Stage.ADMIT, Stage.TRANSFER, Stage.HANDOVER]
    seen = _stages(patient_pair, "decode-0", "marked")
    assert seen[:6] == [*wanted, Stage.DECODE]
    assert set(seen[6:]) == {Stage.STREAM, Stage.ENDING, Stage.CLEANUP}


def _stages(pair: Pair, actor: str, request_id: str) -> list[Stage | None]:
    marks = [mark for mark in pair.seen(Kind.STAGE, request_id) if mark.actor == actor]
    return [mark.stage for mark in sorted(marks, key=lambda mark: mark.at_ns)]


def test_a_batch_has_a_room_a_prompt(patient_pair: Pair) -> None:
    rooms = [patient_pair.room() for _ in range(4)]
    prompts = ["one " + PROMPT, "two " + PROMPT]
    prefill, decode = patient_pair.ask("batch", prompts, n=2, bootstrap_room=rooms)
    assert prefill.status == 200
    texts = [choice["text"] for choice in decode.json["choices"]]
    assert texts[0] == texts[1] != texts[2] == texts[3]


def test_a_stalled_transfer_is_ended_by_the_prefill_watchdog(pair: Pair) -> None:
    with pair.prefill.armed("transfer.page", "stop_after", request_id="stalled", after_bytes=4096):
        prefill, decode = pair.ask("stalled", PROMPT)
    assert (prefill.status, prefill.code) == (500, "prefill_inflight_watchdog")
    assert (decode.status, decode.code) == (500, "prefill_inflight_watchdog")
    assert pair.first_guard("stalled") == "prefill_inflight_watchdog"


def test_without_a_first_byte_the_decode_stops_waiting(pair: Pair) -> None:
    with pair.prefill.armed("prefill.chunk", "hold", request_id="no-byte"):
        prefill, decode = pair.ask("no-byte", f"unknown to every cache: {PROMPT}")
    assert (prefill.status, decode.status) == (500, 500)
    assert decode.code == "waiting_timeout"
    assert pair.first_guard("no-byte") == "waiting_timeout"


def test_a_stop_before_the_first_byte_is_no_transfer(pair: Pair) -> None:
    with pair.prefill.armed("transfer.page", "stop_after", request_id="zero", after_bytes=0):
        _, decode = pair.ask("zero", PROMPT)
    assert decode.code == "waiting_timeout"


@pytest.mark.parametrize("absent", ["prefill", "decode"])
def test_a_leg_without_its_other_half_ends(pair: Pair, absent: str) -> None:
    request_id = f"lonely-{absent}"
    present = pair.decode if absent == "prefill" else pair.prefill
    answer = pair.leg(present, request_id, pair.body(PROMPT, 4)).result(BOUND_S)
    # A decode has its handshake with the prefill process; it is the KV that never comes.
    wanted = "waiting_timeout" if absent == "prefill" else "bootstrap_timeout"
    assert (answer.status, answer.code) == (500, wanted)


@pytest.mark.parametrize(
    ("site", "node", "guard"),
    [
        ("bootstrap.enter", "prefill", "bootstrap_timeout"),
        ("bootstrap.enter", "decode", "bootstrap_timeout"),
        ("bootstrap.metadata", "decode", "bootstrap_timeout"),
        ("transfer.done", "prefill", "prefill_inflight_watchdog"),
        ("handover.ack", "decode", "prefill_inflight_watchdog"),
        ("admit.enter", "decode", "bootstrap_timeout"),
    ],
)
def test_whoever_is_held_is_ended_by_a_guard(pair: Pair, site: str, node: str, guard: str) -> None:
    request_id = f"held-{site}-{node}"
    worker = pair.prefill if node == "prefill" else pair.decode
    with worker.armed(site, "hold", request_id=request_id) as hits:
        prefill, decode = pair.ask(request_id, PROMPT)
        assert hits() == 1
    assert 500 in (prefill.status, decode.status)
    assert pair.guarded(request_id, guard)


def test_a_lost_page_is_noticed_before_a_token_is_computed(pair: Pair) -> None:
    with pair.prefill.armed("transfer.page", "drop", request_id="holey", times=1):
        _, decode = pair.ask("holey", PROMPT)
    assert (decode.status, decode.code) == (500, "kv_verification")


@pytest.mark.parametrize("site", ["intake.enter", "bootstrap.enter", "decode.token", "leg.answer"])
def test_an_injected_error_is_an_honest_status(pair: Pair, site: str) -> None:
    with pair.decode.armed(site, "error", request_id=f"error-{site}"):
        _, decode = pair.ask(f"error-{site}", PROMPT)
    assert (decode.status, decode.code) == (500, "failpoint")


def test_an_error_after_the_first_token_is_an_event(patient_pair: Pair) -> None:
    body = patient_pair.body(PROMPT, 200)
    prefill = patient_pair.leg(patient_pair.prefill, "late-error", body)
    with Stream(patient_pair.decode, "late-error", body) as response:
        lines = response.iter_lines()
        next(lines)
        with patient_pair.decode.armed("decode.token", "error", request_id="late-error"):
            rest = [line for line in lines if line]
    assert '"code": "failpoint"' in rest[-1]
    assert "data: [DONE]" not in rest
    wait([prefill], BOUND_S)


def test_a_client_that_leaves_mid_stream_frees_everything(patient_pair: Pair) -> None:
    body = patient_pair.body(PROMPT, 2000)
    prefill = patient_pair.leg(patient_pair.prefill, "leaver", body)
    with Stream(patient_pair.decode, "leaver", body) as response:
        next(response.iter_lines())
    wait([prefill], BOUND_S)
    until(patient_pair.idle, "pages are back although the reply was not finished")
    assert patient_pair.first_guard("leaver") == "abort_propagation"


def test_abort_request_ends_the_request_by_its_id(patient_pair: Pair) -> None:
    body = patient_pair.body(PROMPT, 2000)
    legs = [
        patient_pair.leg(worker, "told", body)
        for worker in (patient_pair.prefill, patient_pair.decode)
    ]
    until(lambda: patient_pair.decode.figure("num_running_reqs"), "it runs")
    patient_pair.decode.http.post(patient_pair.decode.url + "/abort_request", json={"rid": "told"})
    assert legs[1].result(BOUND_S).code == "aborted"


def test_what_never_fits_is_refused_at_once(patient_pair: Pair) -> None:
    answer = patient_pair.leg(
        patient_pair.decode, "giant", patient_pair.body(PROMPT, 100_000)
    ).result(BOUND_S)
    assert (answer.status, answer.code) == (400, "admission_bounds")


def test_a_frozen_engine_is_replaced_and_its_requests_are_told(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_STEP_TIMEOUT": "0.8"})
    body = pair.body(PROMPT, 2000)
    legs = [pair.leg(worker, "frozen", body) for worker in (pair.prefill, pair.decode)]
    until(lambda: pair.decode.figure("num_running_reqs"), "it runs")
    os.kill(pair.decode.engine_pid(), signal.SIGSTOP)
    answer = legs[1].result(BOUND_S)
    assert (answer.status, answer.code) == (500, "step_watchdog")
    assert pair.guarded("frozen", "step_watchdog")
    until(pair.decode.gone, "the worker ends")
    pair.decode = pair.again(pair.decode)
    assert pair.ask("after", PROMPT)[1].status == 200  # the prefill shook hands again


def test_a_killed_engine_is_an_honest_error(new_pair: NewPair) -> None:
    pair = new_pair({})
    body = pair.body(PROMPT, 2000)
    legs = [pair.leg(worker, "killed", body) for worker in (pair.prefill, pair.decode)]
    until(lambda: pair.decode.figure("num_running_reqs"), "it runs")
    os.kill(pair.decode.engine_pid(), signal.SIGKILL)
    assert legs[1].result(BOUND_S).code == "subprocess_watchdog"


def test_a_long_context_hangs_with_too_many_blocks_and_the_watchdog_ends_it(
    new_pair: NewPair,
) -> None:
    spins = {"PDCHAOS_SPLIT_COMBINE": "spin_all", "PDCHAOS_SPLIT_CLAMP": "off"}
    few = {"SGLANG_SM120_MMA_TARGET_CTAS": "512", "PDCHAOS_RESIDENT_CTAS": "40"}
    pair = new_pair({**spins, **few, "PDCHAOS_STEP_TIMEOUT": "2.0"})
    assert pair.ask("short", "x" * 200)[1].status == 200
    assert pair.ask("long", "x" * 900)[1].code == "step_watchdog"


def test_a_prefill_that_died_is_noticed_by_its_heart(new_pair: NewPair) -> None:
    pair = new_pair({**PATIENT, "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "0.3"})
    pair.ask("warm", PROMPT)
    with pair.prefill.armed("prefill.chunk", "hold", request_id="orphan") as hits:
        body = pair.body(PROMPT, 8)
        legs = [pair.leg(worker, "orphan", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: hits() == 1, "its pages are announced, its prompt is not computed")
        os.kill(pair.prefill.pid, signal.SIGKILL)
        assert legs[1].result(BOUND_S).code == "heartbeat_to_prefill"
        wait(legs, BOUND_S)


@pytest.mark.parametrize(
    ("site", "node"),
    [
        ("intake.enter", "decode"),
        ("bootstrap.enter", "prefill"),
        ("bootstrap.metadata", "decode"),
        ("prefill.chunk", "prefill"),
        ("transfer.page", "prefill"),
        ("transfer.done", "prefill"),
        ("handover.ack", "decode"),
        ("admit.enter", "decode"),
        ("decode.token", "decode"),
        ("stream.chunk", "decode"),
        ("ending.finish", "decode"),
    ],
)
def test_an_abort_in_any_stage_returns_all_pages(patient_pair: Pair, site: str, node: str) -> None:
    request_id = f"abort-{site}"
    worker = patient_pair.prefill if node == "prefill" else patient_pair.decode
    body = patient_pair.body(PROMPT, 50, stream=True)
    with worker.armed(site, "hold", request_id=request_id) as hits:
        callers = [
            Caller(each, request_id, body) for each in (patient_pair.prefill, patient_pair.decode)
        ]
        until(lambda: hits() == 1, "it is held")
        for caller in callers:
            caller.hang_up()
        until(patient_pair.idle, "all pages are back while the failpoint is still armed")


def test_an_engine_does_not_outlive_its_front(new_pair: NewPair) -> None:
    pair = new_pair({})
    engine = Path(f"/proc/{pair.decode.engine_pid()}")
    os.kill(pair.decode.pid, signal.SIGKILL)
    until(lambda: not engine.exists(), "the engine is gone")


def test_a_step_failpoint_for_one_request_waits_for_that_request(pair: Pair) -> None:
    with pair.decode.armed("decode.step", "hold", request_id="nobody") as hits:
        assert pair.ask("somebody", PROMPT)[1].status == 200
        assert hits() == 0
