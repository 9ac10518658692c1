"""A worker that is told to go: it finishes what it has, admits nothing new, and goes in a bound."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import wait

import httpx
import pytest

from tests.stack.engine.conftest import NewPair
from tests.stack.engine.leg import Stream
from tests.stack.engine.pair import BOUND_S, Pair, Worker, until

PROMPT = "a prompt of several pages, so that there is something to push " * 4
NEVER = {"PDCHAOS_DRAIN_TIMEOUT": "600"}  # whoever goes nevertheless did not wait for it
TRANSFER_S = 0.1  # a page: some two seconds for the whole prompt


def tell_to_go(worker: Worker) -> None:
    os.kill(worker.pid, signal.SIGTERM)
    until(lambda: worker.get("/health").status_code == 503, "it says that it goes")


def refused(pair: Pair, worker: Worker, request_id: str) -> tuple[int, str]:
    answer = pair.leg(worker, request_id, pair.body(PROMPT, 4)).result(BOUND_S)
    return answer.status, answer.code


def rest(lines: Iterator[str]) -> list[str]:
    return [line for line in lines if line]


def test_a_decode_ends_its_streams_before_it_goes(new_pair: NewPair) -> None:
    pair = new_pair(NEVER)
    body = pair.body(PROMPT, 150)
    prefill = pair.leg(pair.prefill, "r", body)
    with (
        pair.decode.armed("decode.token", "delay", delay_s=0.01),
        Stream(pair.decode, "r", body) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        tell_to_go(pair.decode)
        assert pair.decode.get("/health").json()["error"]["code"] == "drain"
        assert refused(pair, pair.decode, "late") == (503, "drain")
        assert rest(lines)[-1] == "data: [DONE]"
    until(pair.decode.gone, "it went")
    wait([prefill], BOUND_S)
    assert pair.guards("late") == ["drain"]
    assert pair.guards("r") == []


def test_a_prefill_hands_its_pages_over_before_it_goes(new_pair: NewPair) -> None:
    """dynamo#9937: told to go, a prefill dropped what was in flight."""
    pair = new_pair(NEVER)
    with pair.prefill.armed("transfer.page", "delay", delay_s=TRANSFER_S) as hits:
        body = pair.body(PROMPT, 8)
        legs = [pair.leg(worker, "r", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: hits() > 1, "its pages are on their way")
        tell_to_go(pair.prefill)
        assert refused(pair, pair.prefill, "late") == (503, "drain")
        assert [leg.result(BOUND_S).status for leg in legs] == [200, 200]
    until(pair.prefill.gone, "it went")


@pytest.mark.parametrize("how", ["in its bound", "told twice"])
def test_what_does_not_end_is_handed_back_with_an_error(new_pair: NewPair, how: str) -> None:
    pair = new_pair(NEVER if how == "told twice" else {"PDCHAOS_DRAIN_TIMEOUT": "0.5"})
    body = pair.body(PROMPT, 150)
    pair.leg(pair.prefill, "r", body)
    with Stream(pair.decode, "r", body) as response:
        lines = response.iter_lines()
        next(lines)
        pair.decode.admin("POST", "/failpoints", {"site": "decode.token", "action": "hold"})
        tell_to_go(pair.decode)
        if how == "told twice":
            os.kill(pair.decode.pid, signal.SIGTERM)
        last = rest(lines)[-1]
    assert '"code": "drain"' in last
    until(pair.decode.gone, "it went, although the stream stands")
    assert pair.first_guard("r") == "drain"


def test_the_other_half_of_what_is_handed_back_is_told(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_DRAIN_TIMEOUT": "0.5", "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "60"})
    pair.prefill.admin("POST", "/failpoints", {"site": "transfer.done", "action": "hold"})
    body = pair.body(PROMPT, 8)
    legs = [pair.leg(worker, "held", body) for worker in (pair.prefill, pair.decode)]
    until(lambda: pair.prefill.figure("num_prefill_inflight_queue_reqs"), "it is on its way")
    tell_to_go(pair.prefill)
    assert [leg.result(BOUND_S).code for leg in legs] == ["drain", "drain"]
    until(pair.prefill.gone, "it went")


def test_an_idle_worker_goes_at_once(new_pair: NewPair) -> None:
    pair = new_pair(NEVER)
    os.kill(pair.decode.pid, signal.SIGTERM)
    until(pair.decode.gone, "it went")


def test_without_the_guard_what_is_in_flight_is_dropped(new_pair: NewPair) -> None:
    pair = new_pair({"PDCHAOS_GUARDS_OFF": "drain"})
    body = pair.body(PROMPT, 2000)
    pair.leg(pair.prefill, "r", body)
    with Stream(pair.decode, "r", body) as response:
        lines = response.iter_lines()
        next(lines)
        os.kill(pair.decode.pid, signal.SIGTERM)
        with pytest.raises(httpx.TransportError):
            rest(lines)
    until(pair.decode.gone, "it went")


def test_an_engine_goes_with_its_front_and_not_before(new_pair: NewPair) -> None:
    """What tells a whole process group to go reaches it as well."""
    pair = new_pair({})
    for worker in (pair.prefill, pair.decode):
        os.kill(worker.engine_pid(), signal.SIGTERM)
    assert pair.ask("r", PROMPT)[1].status == 200
