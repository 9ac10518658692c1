"""Proofs of failpoints and knobs, read back over the admin endpoint."""

from __future__ import annotations

import json

import pytest

from chaos.failpoint import Failpoint
from stack.proofs import HitProof, KnobProof, RefusedProof, ToldProof
from stack.worker_admin import AdminSilent, WorkerAdmin
from tests.stack.page_server import serving

HOLD, CRASH = Failpoint("decode.step", "hold"), Failpoint("decode.step", "crash")


def admin(url: str) -> WorkerAdmin:
    return WorkerAdmin("decode-0", int(url.rpartition(":")[2]), "token")


def test_a_failpoint_nobody_passed_has_not_bitten_and_one_hit_is_enough() -> None:
    hits = [0, 1]
    with serving(lambda _: (200, json.dumps({"hits": hits[0], "held": 0}).encode())) as url:
        proof = HitProof(admin(url), "engine-3", HOLD, lambda: True)
        assert not proof.read().bit
        hits.reverse()
        assert proof.read().bit


def test_hits_that_were_seen_stay_seen_when_the_endpoint_falls_silent() -> None:
    with serving(lambda _: (200, b'{"hits": 2, "held": 1}')) as url:
        proof = HitProof(admin(url), "engine-3", HOLD, lambda: True)
        assert proof.read().bit
    evidence = proof.read()
    assert evidence.bit
    assert "unreadable" in evidence.detail


def test_a_crash_is_proven_by_the_process_that_is_gone_and_by_nothing_less() -> None:
    unreachable = WorkerAdmin("decode-0", 1, "token")
    assert HitProof(unreachable, "engine-3", CRASH, lambda: False).read().bit
    assert not HitProof(unreachable, "engine-3", CRASH, lambda: True).read().bit
    assert not HitProof(unreachable, "engine-3", HOLD, lambda: False).read().bit


@pytest.mark.parametrize(
    ("effective", "wanted", "bit"),
    [
        (512, "512", True),
        (2.0, "2", True),
        (True, "1", True),
        ("reference", "reference", True),
        (64, "512", False),
        (False, "1", False),
        (None, "1", False),
        ("reference", "triton", False),
    ],
)
def test_a_knob_is_proven_by_its_effective_value(
    effective: object,
    wanted: str,
    bit: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    page = json.dumps({} if effective is None else {"KNOB": effective}).encode()
    with serving(lambda _: (200, page)) as url:
        assert KnobProof(admin(url), {"KNOB": wanted}).read().bit is bit


TIMER, OTHER = "SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT"


@pytest.mark.parametrize(("read_from", "bit"), [(TIMER, True), (OTHER, False), (None, False)])
def test_a_timer_that_listens_to_another_timer_s_variable_is_no_proof(
    read_from: str | None,
    bit: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """The variable has its value all the same: only its guard tells."""
    guards = {"waiting_timeout": {read_from: 1.0}} if read_from else {}
    pages = {"/knobs": {TIMER: 1.0, OTHER: 9.0}, "/guards": guards}
    with serving(lambda path: (200, json.dumps(pages[path]).encode())) as url:
        evidence = KnobProof(admin(url), {TIMER: "1"}).read()
    assert evidence.bit is bit
    assert evidence.detail.get("waiting_timeout.read_from") == (
        None if bit else read_from or "nothing"
    )


def test_a_knob_that_hangs_its_process_after_it_was_read_back_is_still_proven() -> None:
    with serving(lambda _: (200, b'{"KNOB": 512}')) as url:
        proof = KnobProof(admin(url), {"KNOB": "512"})
        assert proof.read().bit
    assert proof.read().bit
    assert not KnobProof(admin(url), {"KNOB": "512"}).read().bit


def test_a_refused_start_is_its_own_proof() -> None:
    evidence = RefusedProof("decode-0", 2, "expected a number").read()
    assert evidence.bit
    assert evidence.detail["exit_code"] == 2
    assert evidence.detail["last_words"] == "expected a number"


def test_a_router_that_ended_has_not_taken_its_environment() -> None:
    assert ToldProof("router", lambda: True, {"A": "1"}).read().bit
    assert not ToldProof("router", lambda: False, {"A": "1"}).read().bit


def test_an_admin_endpoint_that_refuses_says_what_and_never_the_token() -> None:
    with serving(lambda _: (403, b"no")) as url, pytest.raises(AdminSilent) as refused:
        admin(url).pids()
    assert "decode-0: GET /pids: 403 no" in str(refused.value)
    assert "token" not in repr(admin(url))


def test_a_node_that_was_only_slow_to_start_shows_nothing() -> None:
    assert not RefusedProof("decode-0", None, "did not become ready in 4.5 s").read().bit
