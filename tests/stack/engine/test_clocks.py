"""Which waiting each guard's clock counts: who queues or is slow is left alone, a stall is not."""

import pytest

from tests.stack.engine.conftest import NewPair
from tests.stack.engine.leg import Caller
from tests.stack.engine.pair import BOUND_S, Pair, Worker, until
from tests.stack.stopping import stopped

PROMPT = "a prompt of several pages, so that there is something to push " * 4  # 252 tokens
ONE_FITS = {"PDCHAOS_KV_PAGES": "20"}  # 252 and 16 tokens are 17 pages of 16


def pairs(pair: Pair, count: int, tokens: int = 16) -> dict[str, list[int | str]]:
    """Both legs of so many requests at once: status and, of an error, its code, by request."""
    bodies = {f"r{n}": pair.body(f"{n} {PROMPT}"[:252], tokens) for n in range(count)}
    legs = {
        name: [pair.leg(worker, name, body) for worker in (pair.prefill, pair.decode)]
        for name, body in bodies.items()
    }
    ends = {name: [leg.result(BOUND_S) for leg in both] for name, both in legs.items()}
    return {
        name: [end.status if end.status == 200 else end.code for end in both]
        for name, both in ends.items()
    }


def acts(pair: Pair, *guards: str) -> float:
    return sum(worker.acts(guard) for worker in (pair.prefill, pair.decode) for guard in guards)


def test_a_queue_for_the_decode_s_pages_is_no_lost_handshake(new_pair: NewPair) -> None:
    """tokenspeed#1427, smg#2463: the prefill's timer counted the decode's queueing."""
    pair = new_pair(ONE_FITS)
    with pair.decode.armed("decode.token", "delay", delay_s=0.1):
        ends = pairs(pair, 3, tokens=8)  # each runs for 0.8 s, and a handshake may take 0.6 s
    assert ends == {f"r{n}": [200, 200] for n in range(3)}
    assert acts(pair, "bootstrap_timeout") == 0


def test_a_queue_that_does_not_get_on_is_ended_on_both_sides(new_pair: NewPair) -> None:
    pair = new_pair(ONE_FITS)
    with pair.decode.armed("decode.token", "hold", request_id="r0") as held:
        first = [pair.leg(each, "r0", body) for body in (pair.body(PROMPT, 16),)
                 for each in (pair.prefill, pair.decode)]  # fmt: skip
        until(lambda: held() == 1, "it has the pages, and stands")
        behind = pair.ask("behind", PROMPT)
    assert [end.code for end in behind] == ["bootstrap_timeout", "bootstrap_timeout"]
    assert first[1].result(BOUND_S).status == 200


def test_a_queue_for_the_prefill_s_turn_is_no_lost_byte(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_MAX_RUNNING": "1", "PDCHAOS_CHUNK_TOKENS": "16"})
    with pair.prefill.armed("prefill.step", "delay", delay_s=0.1):
        ends = pairs(pair, 3)  # each is computed for 1.6 s, and the first byte may take 1.6 s
    assert ends == {f"r{n}": [200, 200] for n in range(3)}
    assert acts(pair, "waiting_timeout", "prefill_inflight_watchdog") == 0


def test_who_waits_behind_a_prompt_that_stands_is_ended(new_pair: NewPair) -> None:
    pair = new_pair(
        {
            "PDCHAOS_MAX_RUNNING": "1",
            "PDCHAOS_CHUNK_TOKENS": "16",
            "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "30",
        }
    )
    with pair.prefill.armed("prefill.step", "delay", delay_s=0.1):
        body = pair.body(PROMPT, 8)
        callers = [Caller(worker, "r0", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: pair.decode.figure("kv_pages_received_total"), "its first page is there")
        with pair.prefill.armed("prefill.chunk", "hold", request_id="r0"):
            assert pair.ask("behind", PROMPT)[1].code == "waiting_timeout"
    for caller in callers:
        caller.hang_up()


def test_a_prompt_that_waits_for_its_next_turn_is_no_stalled_transfer(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "0.5", "PDCHAOS_CHUNK_TOKENS": "16"})
    with (
        pair.prefill.armed("prefill.step", "delay", delay_s=0.1),
        pair.prefill.armed("prefill.chunk", "hold", request_id="long") as held,
    ):
        long, short = pair.body(PROMPT, 8), pair.body(f"short {PROMPT}"[:200], 8)
        legs = [pair.leg(worker, "long", long) for worker in (pair.prefill, pair.decode)]
        until(lambda: held() == 1, "it comes first, and stands")
        legs += [pair.leg(worker, "short", short) for worker in (pair.prefill, pair.decode)]
        until(lambda: pair.decode.figure("kv_pages_received_total"), "the other is on its way")
        pair.prefill.admin("DELETE", f"/failpoints/{_armed(pair.prefill, 'prefill.chunk')}")
        # The first is computed for 1.6 s now, and nothing of the other meanwhile.
        assert [leg.result(BOUND_S).status for leg in legs] == [200] * 4
    assert acts(pair, "prefill_inflight_watchdog") == 0


def _armed(worker: Worker, site: str) -> str:
    page = worker.admin("GET", "/failpoints").json()
    return next(str(one["id"]) for one in page["armed"] if one["site"] == site)


def test_a_step_that_takes_its_time_is_no_stalled_transfer(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "0.5", "PDCHAOS_CHUNK_TOKENS": "128"})
    with pair.prefill.armed("prefill.step", "delay", delay_s=1.2):
        assert pair.ask("slow", PROMPT)[1].status == 200
    assert acts(pair, "prefill_inflight_watchdog") == 0


def test_a_prompt_that_stands_in_mid_transfer_is_ended(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "0.5", "PDCHAOS_CHUNK_TOKENS": "16"})
    with pair.prefill.armed("prefill.step", "delay", delay_s=0.1):
        body = pair.body(PROMPT, 8)
        legs = [pair.leg(worker, "r", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: pair.decode.figure("kv_pages_received_total"), "its first page is there")
        with pair.prefill.armed("prefill.chunk", "hold", request_id="r"):
            assert [leg.result(BOUND_S).code for leg in legs] == ["prefill_inflight_watchdog"] * 2


@pytest.mark.parametrize("busy", ["prefill", "decode"])
def test_a_busy_engine_answers_heartbeats_in_time(new_pair: NewPair, busy: str) -> None:
    pair = new_pair({"PDCHAOS_STEP_TIMEOUT": "9", "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "9"})
    worker = pair.prefill if busy == "prefill" else pair.decode
    with worker.armed(f"{busy}.step", "delay", delay_s=1.5, times=2):  # a peer is dead after 0.9 s
        assert pair.ask("slow", PROMPT, tokens=2)[1].status == 200
    assert acts(pair, "heartbeat_to_prefill", "heartbeat_to_decode") == 0


def test_a_decode_that_stands_still_is_noticed_by_its_heart(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "30", "PDCHAOS_STEP_TIMEOUT": "30"})
    with pair.prefill.armed("transfer.done", "hold", request_id="r") as held:
        body = pair.body(PROMPT, 8)
        prefill = pair.leg(pair.prefill, "r", body)
        decode = Caller(pair.decode, "r", body)
        until(lambda: held() == 1, "its pages are on their way")
        with stopped(pair.decode.engine_pid()):
            assert prefill.result(BOUND_S).code == "heartbeat_to_decode"
        decode.hang_up()


def test_a_decode_that_dies_while_a_request_queues_there_is_noticed(new_pair: NewPair) -> None:
    pair = new_pair({"SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "30", **ONE_FITS})
    with pair.decode.armed("decode.token", "hold", request_id="r0") as held:
        first = pair.body(PROMPT, 16)
        for worker in (pair.prefill, pair.decode):
            pair.leg(worker, "r0", first)
        until(lambda: held() == 1, "it has the pages")
        body = pair.body(PROMPT, 8)
        behind = [pair.leg(worker, "behind", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: pair.decode.figure("num_decode_prealloc_queue_reqs"), "it queues")
        with stopped(pair.decode.engine_pid()):
            assert behind[0].result(BOUND_S).code == "heartbeat_to_decode"


def test_a_queue_beside_a_request_that_stands_is_no_hung_engine(new_pair: NewPair) -> None:
    patient = {"SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "30"}
    pair = new_pair({"PDCHAOS_STEP_TIMEOUT": "0.5", **patient, **ONE_FITS})
    with pair.decode.armed("decode.token", "delay", delay_s=1.2, times=2):
        ends = pairs(pair, 2, tokens=2)
    assert ends == {"r0": [200, 200], "r1": [200, 200]}
    assert acts(pair, "step_watchdog", "progress_health") == 0


def test_pages_of_a_writer_that_answers_late_come_back_by_its_word(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "30"})
    with (
        pair.prefill.armed("cleanup.abort", "delay", delay_s=0.5),
        pair.prefill.armed("transfer.done", "hold", request_id="r") as held,
    ):
        body = pair.body(PROMPT, 8)
        callers = [Caller(worker, "r", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: held() == 1, "its pages are on their way")
        callers[1].hang_up()
        until(lambda: pair.decode.figure("kv_quarantined_pages"), "its pages wait")
        until(pair.idle, "they are back")
        callers[0].hang_up()
    assert pair.decode.figure("num_drain_timeouts_total") == 0


def test_who_waits_for_a_decode_fills_no_prefill(new_pair: NewPair) -> None:
    pair = new_pair(
        {
            "PDCHAOS_MAX_RUNNING": "1",
            "PDCHAOS_MAX_QUEUED": "1",
            "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "2",
        }
    )
    waiting = [pair.leg(pair.prefill, f"w{n}", pair.body(PROMPT, 4)) for n in range(2)]
    until(lambda: pair.prefill.figure("num_prefill_bootstrap_queue_reqs") == 2, "two wait")
    waiting.append(pair.leg(pair.prefill, "w2", pair.body(PROMPT, 4)))
    assert [leg.result(BOUND_S).code for leg in waiting] == ["bootstrap_timeout"] * 3
    open_and_waiting = "num_open_reqs", "num_prefill_bootstrap_queue_reqs"
    until(lambda: pair.prefill.figures(*open_and_waiting) == [0, 0], "they have gone")
    with pair.prefill.armed("prefill.chunk", "hold"):
        bodies = [pair.body(PROMPT, 4) for _ in range(2)]
        callers = [Caller(w, f"r{n}", b) for n, b in enumerate(bodies)
                   for w in (pair.prefill, pair.decode)]  # fmt: skip
        until(lambda: pair.prefill.figures(*open_and_waiting) == [2, 0], "two are in, and begun")
        refused = pair.leg(pair.prefill, "third", pair.body(PROMPT, 4)).result(BOUND_S)
        for caller in callers:
            caller.hang_up()
    assert (refused.status, refused.code) == (503, "admission_bounds")
