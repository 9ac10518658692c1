"""Runs one launch in several launch orders, and says what came of each.

Needs TRITON_INTERPRET in the environment before it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernels import splits
from kernels.case import Case
from kernels.residency import Deadlock, Ending, NotProven, Rules, Run, scheduled
from kernels.residency.scheduler import launch_order


@dataclass(frozen=True, slots=True)
class Trial:
    """What one launch order led to. `run` is the launch that decided."""

    ending: Ending
    told: str
    run: Run | None = None


def one(launch: Callable[[], object], rules: Rules) -> Trial:
    """Launch once, under a scheduler."""
    try:
        with scheduled(rules) as runs:
            launch()
    except (Deadlock, NotProven) as stopped:
        return Trial(stopped.run.ending, str(stopped.run), stopped.run)
    except Exception as error:  # noqa: BLE001 - a kernel nobody has seen may raise anything
        return Trial(Ending.UNFINISHED, f"the interpreter cannot run it: {error!r}")
    return Trial(Ending.FINISHED, "\n".join(str(run) for run in runs), runs[0] if runs else None)


def every(launch: Callable[[], object], orders: Sequence[Rules]) -> list[Trial]:
    return [one(launch, rules) for rules in orders]


def disagreement(case: Case, rules: Rules, trial: Trial) -> str:
    """Where the run of a shipped kernel and the plan's arithmetic differ; "" if nowhere."""
    if case.plan is None or not trial.ending.proven or trial.run is None:
        return ""
    plan = case.plan
    order = _programs(rules, plan, case.layout)
    expected = splits.never_started(plan.launch, plan.splits, plan.residency, order)
    found = trial.run.never_started
    if expected == found:
        return ""
    return f"the plan's arithmetic says that {expected} CTAs never start, the run {found}"


def _programs(rules: Rules, plan: splits.SplitPlan, layout: str) -> list[int]:
    """The launch order as the arithmetic counts programs: tile-fastest."""
    indices = (x for x, _, _ in launch_order(rules, (plan.grid, 1, 1)))
    if layout == "tile_fastest":
        return list(indices)
    tiles = plan.launch.tiles
    return [x % plan.splits * tiles + x // plan.splits for x in indices]
