"""Goal: what SGLang logs of a request becomes a mark of that request, and nothing else does.

Method: lines as SGLang 0.5.23 wrote them, shortened.
"""

from __future__ import annotations

import json

import pytest

from chaos.event import Kind, Mark
from chaos.stage import Stage
from stack.drivers.sglang_log import STAGES, mark

ROOM = 3354831146345934256
BOOTSTRAP = (
    "[2026-11-30 17:25:08] Prefill bootstrap failed for request rank=0 req.rid='r2#7' "
    "req.bootstrap_room=2660359 with exception KVTransferError(bootstrap_room=2660359): "
    "Request 2660359 timed out after 8.0s in KVPoll.Bootstrapping"
)


def told(node: str, event: str, **more: object) -> Mark | None:
    entry = {"timestamp": "now", "event": event, "rid": "r1#7", "obj": {"bootstrap_room": ROOM}}
    return mark(node, f"[2026-11-30 17:28:29] {json.dumps({**entry, **more})}")


def ended(node: str, reason: str) -> Mark | None:
    return told(node, "request.finished", out={"meta_info": {"finish_reason": {"type": reason}}})


def test_a_request_that_came_enters_intake_with_its_room_and_its_routing_key() -> None:
    seen = told("decode-0", "request.received", headers={"x-smg-routing-key": "agent-1"})
    assert seen is not None
    assert (seen.kind, seen.actor, seen.about) == (Kind.STAGE, "decode-0", "r1")
    assert (seen.stage, seen.attempt) == (Stage.INTAKE, ROOM)
    assert seen.detail == {"routing_key": "agent-1"}


@pytest.mark.parametrize(
    ("node", "reason", "stage"),
    [
        ("prefill-0", "length", Stage.HANDOVER),
        ("decode-0", "stop", Stage.ENDING),
        ("decode-0", "abort", Stage.CLEANUP),
        ("prefill-0", "abort", Stage.CLEANUP),
    ],
)
def test_a_request_that_ended_enters_the_stage_that_its_node_ends_with(
    node: str, reason: str, stage: Stage
) -> None:
    seen = ended(node, reason)
    assert seen is not None
    assert seen.stage is stage
    assert stage in STAGES


@pytest.mark.parametrize(
    ("words", "guard"),
    [
        ("timed out after 8.0s in KVPoll.Bootstrapping", "bootstrap_timeout"),
        ("timed out after 8.0s in KVPoll.WaitingForInput", "waiting_timeout"),
        ("Lost connection with prefill instance (bootstrap_addr: a:1)", "heartbeat_to_prefill"),
        ("Could not fetch prefill parallel info from a:1 after 15", "prefill_info_attempts"),
        ("Aborted by AbortReq.", "abort_propagation"),
    ],
)
def test_a_failed_request_is_named_by_the_guard_whose_words_stand_in_the_line(
    words: str, guard: str
) -> None:
    line = (
        f"Decode transfer failed for request rank=0 decode_req.req.rid='a0.1+1#3' because {words}"
    )
    seen = mark("decode-0", line)
    assert seen is not None
    assert (seen.kind, seen.about, seen.detail["guard"]) == (Kind.GUARD, "a0.1+1", guard)


def test_a_guard_s_mark_says_why_in_sglang_s_own_words() -> None:
    seen = mark("prefill-0", BOOTSTRAP)
    assert seen is not None
    assert "timed out after 8.0s" in str(seen.detail["why"])


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-30 17:28:30] Decode batch, #running-req: 1, #token: 265",
        "Lost connection with prefill instance (bootstrap_addr: a:1), 0 requests affected",
        "Decode transfer failed for request rank=0 decode_req.req.rid='r1#7' for no known reason",
        BOOTSTRAP.replace("r2#7", "HEALTH_CHECK_772d"),
        '[2026] {"timestamp": "now", "event": "request.received", "rid": "r1#7", "obj": ',
        '[2026] {"timestamp": "now", "event": "request.received.openai", "obj": {}}',
    ],
)
def test_a_line_without_a_request_of_ours_or_without_a_known_reason_is_no_mark(line: str) -> None:
    assert mark("decode-0", line) is None
