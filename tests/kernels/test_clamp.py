"""The clamp: a kernel whose CTAs wait for each other is never launched with more than fit."""

from __future__ import annotations

import pytest

from kernels.golden import resident_ctas
from kernels.splits import WAITING, Launch, Verdict, plan

TARGET, CONTEXT = 512, 131_072


@pytest.mark.parametrize("combine", sorted(WAITING))
def test_the_clamp_holds_the_incidents_knob_to_what_is_resident(combine: str) -> None:
    residency = resident_ctas(f"mla_decode-bf16-{combine}", "rtx-pro-6000")
    launch = Launch((CONTEXT,), 8, 32, combine)

    held = plan(launch, TARGET, residency)

    assert held.grid <= residency < TARGET
    assert held.clamped
    assert held.verdict is Verdict.SAFE


def test_without_the_clamp_the_same_knob_deadlocks() -> None:
    residency = resident_ctas("mla_decode-bf16-spin_all", "rtx-pro-6000")

    loose = plan(Launch((CONTEXT,), 8, 32, "spin_all"), TARGET, residency, clamp=False)

    assert loose.verdict is Verdict.DEADLOCK


def test_a_kernel_that_waits_for_nobody_is_not_clamped() -> None:
    residency = resident_ctas("mla_decode-bf16-last_arriver", "rtx-pro-6000")

    free = plan(Launch((CONTEXT,), 8, 32, "last_arriver"), TARGET, residency)

    assert free.grid == TARGET > residency
    assert free.verdict is Verdict.SAFE
