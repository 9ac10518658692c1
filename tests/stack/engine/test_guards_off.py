"""What happens without each guard: the negative controls, on real processes."""

import socket
import struct
from concurrent.futures import wait

import pytest

from stack.engine.wire import PAGE, PREAMBLE, Frame
from tests.stack.engine.conftest import NewPair
from tests.stack.engine.leg import Caller, Stream
from tests.stack.engine.pair import BOUND_S, Pair, until

PROMPT = "a prompt of several pages, so that there is something to push " * 4
PAGE_BYTES = 2 * 2 * 16 * 2 * 16 * 4  # layers, K and V, tokens, kv_heads, head_dim, float32
LONG_S = 3.2  # well beyond every quick time-out of a pair


def test_without_the_inflight_watchdog_a_stalled_transfer_is_silent(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_GUARDS_OFF": "prefill_inflight_watchdog"})
    body = pair.body(PROMPT, 8)
    with pair.prefill.armed("transfer.page", "stop_after", request_id="r", after_bytes=4096):
        legs = [pair.leg(worker, "r", body) for worker in (pair.prefill, pair.decode)]
        assert wait(legs, LONG_S).done == set()  # the decode is Transferring: nobody ends it
        assert pair.decode.alive()
        assert pair.prefill.figure("num_prefill_inflight_queue_reqs") == 1
    assert legs[1].result(BOUND_S).status == 200  # released, it goes on where it stopped


def test_without_abort_propagation_the_engine_goes_on_for_nobody(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_GUARDS_OFF": "abort_propagation"})
    body = pair.body(PROMPT, 300)
    prefill = pair.leg(pair.prefill, "r", body)
    with (
        pair.decode.armed("decode.step", "delay", delay_s=0.01),
        Stream(pair.decode, "r", body) as response,
    ):
        next(response.iter_lines())
    wait([prefill], BOUND_S)
    until(lambda: pair.decode.figure("generation_tokens_total") >= 300, "all of it is computed")
    assert pair.guards("r") == []


def test_without_skip_to_failed_an_abort_in_transfer_is_lost(new_pair: NewPair) -> None:
    pair = new_pair(
        {"PDCHAOS_GUARDS_OFF": "skip_to_failed", "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "60"}
    )
    body = pair.body(PROMPT, 8)
    with pair.prefill.armed("transfer.page", "stop_after", request_id="r", after_bytes=9000):
        callers = [Caller(worker, "r", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: pair.decode.figure("num_decode_transfer_queue_reqs"), "KV is on its way")
        until(lambda: pair.decode.figure("kv_pages_received_total"), "a page arrived")
        for caller in callers:
            caller.hang_up()
        until(lambda: pair.decode.figure("num_aborted_requests_total"), "the abort arrived")
        assert pair.decode.figure("kv_used_pages") > 0
        assert pair.decode.figure("num_decode_transfer_queue_reqs") == 1


def _late_writer(pair: Pair, room: int, pages: range) -> socket.socket:
    """A writer that was told to stop and has not yet heard of it."""
    assert pair.decode.config.kv_port is not None
    writer = socket.create_connection(("127.0.0.1", pair.decode.config.kv_port), timeout=BOUND_S)
    junk = struct.pack("<f", 3.0) * (PAGE_BYTES // 4)
    frames = b"".join(Frame(PAGE, 0, page, 0, junk).pack() for page in pages)
    writer.sendall(PREAMBLE.pack(room) + frames)
    return writer


@pytest.mark.parametrize("off", ["page_quarantine", ""])
def test_a_late_writer_corrupts_only_without_quarantine(new_pair: NewPair, off: str) -> None:
    # As many pages as one request needs, so that the next one gets the very same.
    pair = new_pair(
        {
            "PDCHAOS_GUARDS_OFF": off,
            "PDCHAOS_KV_PAGES": "20",
            "PDCHAOS_ABORT_DRAIN_TIMEOUT": "4",
            "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "30",
        }
    )
    truth = pair.ask("truth", PROMPT, tokens=40)[1].reply
    until(pair.idle, "the pages of the first are free again")
    first, second = pair.body(PROMPT, 40), pair.body(PROMPT, 40)
    with (
        pair.prefill.armed("cleanup.abort", "hold", request_id="first"),  # it will not drain
        pair.prefill.armed("prefill.chunk", "hold", request_id="first") as held,
    ):
        callers = [Caller(worker, "first", first) for worker in (pair.prefill, pair.decode)]
        until(lambda: held() == 1, "its pages are announced")
        callers[1].hang_up()
        kept = "kv_quarantined_pages" if off == "" else "kv_pages"
        until(lambda: pair.decode.figure("num_aborted_requests_total"), "it was aborted")
        until(lambda: pair.decode.figure(kept), "its pages are kept, or free")
        with pair.decode.armed("decode.step", "hold") as stepping:
            legs = [pair.leg(worker, "second", second) for worker in (pair.prefill, pair.decode)]
            if off:
                until(lambda: stepping() == 1, "the second request has the pages")
            before = pair.decode.figure("kv_pages_received_total")
            with _late_writer(pair, first["bootstrap_room"], range(20)):
                arrived = "kv_pages_received_total"
                until(lambda: pair.decode.figure(arrived) >= before + 20, "late bytes landed")
    reply = legs[1].result(BOUND_S).reply
    callers[0].hang_up()
    assert (reply == truth) == (off == "")


def test_a_body_that_nobody_reads_is_given_up(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_KV_PAGES": "1024"})
    body = pair.body(PROMPT, 6000)
    prefill = pair.leg(pair.prefill, "unread", body)
    with Stream(pair.decode, "unread", body) as response:
        lines = response.iter_lines()
        next(lines)
        until(lambda: pair.guards("unread"), "the guard acts")
    wait([prefill], BOUND_S)
    assert pair.first_guard("unread") == "stream_idle_guard"
    until(pair.idle, "its slot and pages are free")


def test_a_full_worker_refuses_at_once(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_MAX_RUNNING": "1", "PDCHAOS_MAX_QUEUED": "1"})
    with pair.decode.armed("decode.step", "hold"):
        callers = [Caller(pair.decode, f"r{n}", pair.body(PROMPT, 4)) for n in range(2)]
        until(lambda: pair.decode.figure("num_open_reqs") == 2, "two are in")
        refused = pair.leg(pair.decode, "third", pair.body(PROMPT, 4)).result(BOUND_S)
    for caller in callers:
        caller.hang_up()
    assert (refused.status, refused.code) == (503, "admission_bounds")
    assert pair.first_guard("third") == "admission_bounds"


def test_health_turns_red_when_a_step_hangs_and_the_watchdog_is_off(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_GUARDS_OFF": "step_watchdog", "PDCHAOS_STEP_TIMEOUT": "0.5"})
    with pair.decode.armed("decode.step", "hold"):
        body = pair.body(PROMPT, 4)
        legs = [pair.leg(worker, "r", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: pair.decode.get("/health").status_code == 503, "health is red")
        assert pair.decode.get("/health_generate").status_code == 503
    until(lambda: pair.decode.get("/health").status_code == 200, "health is green again")
    assert legs[1].result(BOUND_S).status == 200


def test_a_slow_engine_that_moves_is_left_alone(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_STEP_TIMEOUT": "1.0"})
    with pair.decode.armed("decode.step", "delay", delay_s=0.4):
        assert pair.ask("slow", PROMPT, tokens=4)[1].status == 200
    assert pair.decode.acts("step_watchdog") == 0
    assert pair.decode.acts("progress_health") == 0
