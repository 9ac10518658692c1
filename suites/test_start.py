"""A worker that is started with settings it must not accept."""

from __future__ import annotations

import pytest

from chaos.experiment import Strike
from chaos.play import Play
from chaos.verdict import caught_by
from chaos.workloads.lone import Lone
from faults.knobs import BadKnob


@pytest.mark.lifecycle
@pytest.mark.bad_knob
def test_a_bad_knob_is_refused_at_start_with_a_clear_message(play: Play) -> None:
    play(
        Lone("after", due_s=1.0),
        [Strike(BadKnob("decode-0", {"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "soon"}), for_s=4.0)],
        allowed=[caught_by("knob_validation"), caught_by("router_error_reply")],
    )
