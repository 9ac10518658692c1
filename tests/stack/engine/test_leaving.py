"""A client that leaves while nothing is written is noticed, and everything it had is free again.

Each bound counts from the leaving, while whatever silenced the reply goes on.
"""

import pytest

from tests.stack.engine.conftest import NewPair
from tests.stack.engine.leg import Caller, Stream
from tests.stack.engine.pair import BOUND_S, Worker, until
from tests.stack.stopping import stopped

PROMPT = "a prompt of several pages, so that there is something to push " * 4
# Nothing else than the leaving may end a request here.
PATIENT = {
    "PDCHAOS_STEP_TIMEOUT": "600",
    "PDCHAOS_STREAM_IDLE_TIMEOUT": "600",
    "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "600",
    "PDCHAOS_ABORT_DRAIN_TIMEOUT": "600",
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "600",
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "600",
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "600",
}


def free(worker: Worker) -> bool:
    names = ("num_open_reqs", "kv_used_pages", "kv_quarantined_pages", "num_running_reqs")
    return all(worker.figure(name) == 0 for name in names)


@pytest.mark.parametrize("site", ["decode.token", "stream.chunk"])
def test_a_stream_that_stands_is_left_and_freed(new_pair: NewPair, site: str) -> None:
    pair = new_pair(PATIENT)
    body = pair.body(PROMPT, 2000)
    prefill = pair.leg(pair.prefill, "r", body)
    with Stream(pair.decode, "r", body) as response:
        lines = response.iter_lines()  # kept: with it the response would be closed
        next(lines)
        with pair.decode.armed(site, "hold", request_id="r") as held:
            until(lambda: held() == 1, "it stands")
            response.close()
            until(lambda: free(pair.decode), "slot and pages are back while it still stands")
            assert pair.guards("r") == ["abort_propagation"]
    prefill.result(BOUND_S)


@pytest.mark.parametrize("who", ["decode", "prefill"])
@pytest.mark.parametrize("site", ["transfer.page", "transfer.done", "prefill.chunk"])
def test_one_half_that_is_left_takes_the_other_one_with_it(
    new_pair: NewPair, site: str, who: str
) -> None:
    """A router may give up only the half that it still hears of."""
    pair = new_pair(PATIENT)
    with pair.prefill.armed(site, "hold", request_id="r") as held:
        body = pair.body(PROMPT, 8)
        callers = {
            worker.config.role: Caller(worker, "r", body) for worker in (pair.prefill, pair.decode)
        }
        until(lambda: held() == 1, "the KV stands")
        callers[who].hang_up()
        until(pair.idle, "both have everything back while the KV still stands")
        for caller in callers.values():
            caller.hang_up()


def test_one_who_leaves_while_its_prefill_is_frozen_frees_the_decode(new_pair: NewPair) -> None:
    """Its pages wait for the writer's word, and that wait has a bound of its own."""
    pair = new_pair({**PATIENT, "PDCHAOS_ABORT_DRAIN_TIMEOUT": "0.5"})
    with pair.prefill.armed("transfer.done", "hold", request_id="r") as held:
        body = pair.body(PROMPT, 8)
        callers = [Caller(worker, "r", body) for worker in (pair.prefill, pair.decode)]
        until(lambda: held() == 1, "its pages are on their way")
        with stopped(pair.prefill.engine_pid()):
            callers[1].hang_up()
            until(lambda: free(pair.decode), "slot and pages are back, and prefill stands still")
        callers[0].hang_up()


def test_one_who_leaves_a_step_that_stands_is_free_when_the_watchdog_acts(
    new_pair: NewPair,
) -> None:
    """Only the step thread gives pages back: the bound there is that a hung one is replaced."""
    pair = new_pair({**PATIENT, "PDCHAOS_STEP_TIMEOUT": "0.8"})
    body = pair.body(PROMPT, 2000)
    pair.leg(pair.prefill, "r", body)
    with Stream(pair.decode, "r", body) as response:
        lines = response.iter_lines()  # kept: with it the response would be closed
        next(lines)
        with pair.decode.armed("decode.step", "hold") as held:
            until(lambda: held() == 1, "the step stands")
            response.close()
            until(pair.decode.gone, "the worker is replaced, with the pages")
