"""A worker that is started with settings it must not accept."""

from __future__ import annotations

import pytest

from chaos.experiment import Strike
from chaos.play import Play
from chaos.workloads.lone import Lone
from faults.knobs import BadKnob


@pytest.mark.quick
@pytest.mark.lifecycle
@pytest.mark.bad_knob
def test_a_bad_knob_is_refused_at_start_with_a_clear_message(play: Play) -> None:
    bad = {"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "soon"}
    play(Lone("after", due_s=4.0), [Strike(BadKnob("decode-0", bad), for_s=2.0)])
    proof = play.proof()
    assert "decode-0.refused" in proof, "it started with the bad knob, as if nothing were wrong"
    assert "expected a number" in str(proof["decode-0.last_words"])
    assert "'soon'" in str(proof["decode-0.last_words"])
