"""Whether every access stays in its tensor, in every schedule; a wait need not depend on it.

An access outside may change whatever lies there, the counters that others wait for among it.
"""

from __future__ import annotations

from kernels.compiled_launch import CompiledLaunch
from kernels.residency.answer import Finding, Verdict
from kernels.residency.launching import launch_of
from kernels.residency.machine import Outside, Undecided
from kernels.residency.parts import parts_of
from kernels.residency.states import BudgetSpent

ALL_INSIDE = "every access stays in its tensor, in every schedule"
SHOWN_MAX = 3  # places that are listed


def within_bounds(
    finding: Finding, compiled: CompiledLaunch, until: float | None = None
) -> tuple[Finding, str]:
    """What is left of a finding that a launch ends, and what was seen of its accesses."""
    if finding.verdict not in {Verdict.SAFE, Verdict.ONE_ORDER}:
        return finding, ""
    try:
        launch = launch_of(compiled, until, bounds=True)
        parts_of(launch.machine, launch.starts, launch.budget)
    except Outside as outside:
        return Finding(Verdict.NOT_PROVEN, f"{outside}: what that changes cannot be told"), ""
    except Undecided as undecided:
        return finding, _assumed(str(undecided))
    except BudgetSpent:
        return finding, _assumed("there are more states than the budget")
    places = sorted({*launch.machine.unlooked, *launch.machine.program.hidden})
    if not places:
        return finding, ALL_INSIDE
    return finding, _assumed(f"the address is unknown at {', '.join(places[:SHOWN_MAX])}")


def _assumed(why: str) -> str:
    return f"that every access stays in its tensor is taken for granted: {why}"
